"""The C libraries: one for each dialect that has a header. The build makes them by these records
and miopy-config tells where they are."""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """A dialect's C library; C code of its own, if it has any, is `miopy/capi/<dialect>.c`.

    header           below `include`; functions of headers that it includes are declared, no more
    files            in the SDK, each with its SONAME as its name; programs are linked to the first
    version_node     of the symbols, as the vendor's library has it, so that programs linked to that
                     one find ours; "" if it has none
    not_initialized  the status where Python cannot be started, or has ended
    not_implemented  the status of functions that are only declared
    message_prefix   of lines on standard error
    log_level        the variable and the value of it that keep standard error quiet
    answered_in_c    functions of the header that need no Python
    additions        functions that the vendor does not have, in C as well
    link_with        libraries that programs for this one need, too
    compile_flags    what they expect to be defined
    module           below `miopy.dialects`, if it is not of the dialect's name
    include          the folder below `include` from which programs include the header
    renames          beginnings of names of types and enumerators, and what they become where all
                     libraries meet: another one has the same names
    """

    header: str
    files: tuple[str, ...]
    version_node: str
    not_initialized: str
    not_implemented: str
    message_prefix: str
    log_level: tuple[str, str]
    answered_in_c: frozenset[str] = frozenset()
    additions: tuple[str, ...] = ()
    link_with: tuple[str, ...] = ()
    compile_flags: tuple[str, ...] = ()
    module: str = ""
    include: str = ""
    renames: tuple[str, str] = ("", "")

    @property
    def folder(self) -> str:
        """Of the file that programs are linked to, in the SDK."""
        return self.files[0].rpartition("/")[0]

    @property
    def link_name(self) -> str:
        """What a linker calls it: "MIOpen" of lib/libMIOpen.so.1."""
        return self.files[0].rpartition("/lib")[2].partition(".so")[0]


LIBRARIES = {
    "miopen": Library(
        header="miopen/miopen.h",
        files=("lib/libMIOpen.so.1",),
        version_node="MIOPEN_HIP_1",
        not_initialized="miopenStatusNotInitialized",
        not_implemented="miopenStatusNotImplemented",
        message_prefix="MIOpen Error",
        log_level=("MIOPEN_LOG_LEVEL", "1"),
        answered_in_c=frozenset({"miopenGetErrorString", "miopenGetVersion"}),
        additions=("miopyGetLastError",),
        link_with=("amdhip64",),
        compile_flags=("-D__HIP_PLATFORM_AMD__=1",),
    ),
    # The vendor's file name is in a folder of its own, which must be asked for: a real cuDNN on the
    # same machine is never replaced by accident.
    "cudnn": Library(
        header="cudnn.h",
        files=("lib/libcudnn_rnn.so.9", "cudnn/libcudnn.so.9"),
        version_node="libcudnn.so.9",
        not_initialized="CUDNN_STATUS_NOT_INITIALIZED",
        not_implemented="CUDNN_STATUS_NOT_SUPPORTED",
        message_prefix="cuDNN Error",
        log_level=("CUDNN_LOGLEVEL_DBG", "0"),
        answered_in_c=frozenset(
            {"cudnnGetErrorString", "cudnnGetLastErrorString", "cudnnGetVersion"}
        ),
    ),
    "onednn": Library(
        header="oneapi/dnnl/dnnl.h",
        files=("lib/libdnnl.so.3",),
        version_node="",
        not_initialized="dnnl_runtime_error",
        not_implemented="dnnl_unimplemented",
        message_prefix="oneDNN Error",
        log_level=("ONEDNN_VERBOSE", "0"),
        answered_in_c=frozenset({"dnnl_status2str", "dnnl_version"}),
        additions=("miopyGetLastError",),
    ),
    # The same vendor's file names and headers: each version has folders of its own.
    "onednn_v2": Library(
        header="onednn_v2/oneapi/dnnl/dnnl.h",
        files=("onednn_v2/libdnnl.so.2",),
        version_node="",
        not_initialized="dnnl_runtime_error",
        not_implemented="dnnl_unimplemented",
        message_prefix="oneDNN Error",
        log_level=("ONEDNN_VERBOSE", "0"),
        answered_in_c=frozenset({"dnnl_status2str", "dnnl_version"}),
        additions=("miopyGetLastError",),
        module="onednn.v2",
        include="onednn_v2",
        renames=("dnnl_", "v2_dnnl_"),
    ),
}
