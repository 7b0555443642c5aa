/* streams.cpp: work is done when it is given, except on streams that are captured into graphs. */
#include <cstring>
#include <map>
#include <vector>

#include "runtime.h"

namespace hostcuda
{
std::mutex device;

typedef std::vector<std::function<int()>> Graph;

static std::map<void *, Graph> captures;

bool is_captured(void *stream) { return captures.count(stream); }

int submit(void *stream, std::function<int()> work)
{
    if (!is_captured(stream))
        return work();
    captures[stream].push_back(std::move(work));
    return SUCCESS;
}

PUBLIC int hostcuda_is_capturing(void *stream)
{
    std::lock_guard<std::mutex> lock(device);
    return is_captured(stream);
}

/* The default stream cannot be captured, nor a stream twice. */
PUBLIC int hostcuda_begin_capture(void *stream)
{
    std::lock_guard<std::mutex> lock(device);
    return stream && captures.emplace(stream, Graph()).second ? SUCCESS : CAPTURE_UNSUPPORTED;
}

/* What was captured, for hostcuda_free_graph; NULL if nothing is. */
PUBLIC Graph *hostcuda_end_capture(void *stream)
{
    std::lock_guard<std::mutex> lock(device);
    const auto capture = captures.find(stream);
    if (capture == captures.end())
        return nullptr;
    Graph *graph = new Graph(std::move(capture->second));
    captures.erase(capture);
    return graph;
}

PUBLIC int hostcuda_launch_graph(Graph *graph, void *stream)
{
    std::lock_guard<std::mutex> lock(device);
    if (is_captured(stream))
        return CAPTURE_UNSUPPORTED;
    for (auto &work : *graph)
        if (const int result = work())
            return result;
    return SUCCESS;
}

PUBLIC void hostcuda_free_graph(Graph *graph) { delete graph; }

/* Between areas that do not overlap. */
PUBLIC int hostcuda_copy(char *to, const char *source, std::size_t nbytes, void *stream)
{
    if (nbytes && (!to || !source || (to < source + nbytes && source < to + nbytes)))
        return INVALID_VALUE;
    std::lock_guard<std::mutex> lock(device);
    return submit(stream, [=] {
        if (nbytes)
            std::memcpy(to, source, nbytes);
        return SUCCESS;
    });
}
} // namespace hostcuda
