"""What gpu_check times: DeepBench's shapes of RNNs, those that other papers cite, and some more."""

from __future__ import annotations

from bench_shapes import Shape

HALVES = ("float16", "bfloat16")
LSTM_BATCHES = {  # by hidden size and steps
    (256, 150): (16, 32, 64),
    (512, 25): (16, 32, 64, 128),
    (1024, 25): (16, 32, 64, 128),
    (1536, 50): (8, 16, 32),
    (2048, 25): (16, 32, 64, 128),
    (4096, 25): (16, 32, 64, 128),
}
GRU_STEPS = 1500
GRU_BATCHES = {1024: (32, 64), 1536: (32,), 2048: (32,), 2560: (32,), 2816: (32,)}
VANILLA = {1760: "tanh", 2048: "tanh", 2560: "relu"}
VANILLA_BATCHES, SMALL_BATCHES = (16, 32, 64, 128), (1, 2, 4)
TRAINING = (
    *(
        Shape("lstm", hidden_size, batch, steps)
        for (hidden_size, steps), batches in LSTM_BATCHES.items()
        for batch in batches
    ),
    *(Shape(cell, size, batch, 50) for size, cell in VANILLA.items() for batch in VANILLA_BATCHES),
)
INFERENCE = tuple(
    Shape("lstm", hidden_size, batch, steps, inference_only=True)
    for hidden_size, steps in LSTM_BATCHES
    for batch in SMALL_BATCHES
    if hidden_size <= 2048
)
LONG_TRAINING = tuple(
    Shape("gru", hidden_size, batch, GRU_STEPS)
    for hidden_size, batches in GRU_BATCHES.items()
    for batch in batches
)
LONG_INFERENCE = tuple(
    Shape("gru", hidden_size, batch, GRU_STEPS, inference_only=True)
    for hidden_size in GRU_BATCHES
    for batch in SMALL_BATCHES
)
DEEPBENCH = (*TRAINING, *INFERENCE, *LONG_TRAINING, *LONG_INFERENCE)
CITED = Shape("lstm", 768, 16, 1024)  # by FlashRNN
# One of every regime.
FIRST = (
    Shape("lstm", 1024, 64, 25),
    Shape("lstm", 512, 16, 25),
    CITED,
    Shape("gru", 1536, 32, 187),
    Shape("lstm", 128, 16, 1024),
    Shape("lstm", 256, 16, 150),
    Shape("tanh", 1760, 16, 50),
    Shape("lstm", 1024, 1, 25, inference_only=True),
)
OTHERS = (
    Shape("lstm", 128, 16, 1024, num_directions=2),
    Shape("lstm", 128, 16, 1024, num_layers=4),
    Shape("lstm", 1024, 16, 375, num_layers=4),
    Shape("lstm", 320, 32, 100, input_size=161, num_layers=2, num_directions=2),
    Shape("lstm", 64, 8, 1024),
    Shape("lstm", 200, 256, 150),
    Shape("gru", 256, 64, 150),
    Shape("tanh", 256, 64, 150),
)
IN_FLOAT32 = (
    *(*FIRST, *OTHERS),
    *(Shape("lstm", 2048, 64, 25), Shape("gru", 2816, 32, 187), Shape("lstm", 4096, 16, 25)),
)
TINY = (Shape("lstm", 8, 4, 5), Shape("gru", 8, 2, 4, 3, 2, 2, inference_only=True))
BY_NAME = {shape.name: shape for shape in (*TINY, *DEEPBENCH, *FIRST, *OTHERS, *IN_FLOAT32)}


def pairs() -> list[tuple[Shape, str]]:
    """Shapes and types, those that tell most first, in case time runs out."""
    every = [(shape, dtype) for shape in FIRST for dtype in (*HALVES, "float32")]
    for shapes in ((*TRAINING, *INFERENCE), OTHERS, LONG_TRAINING, LONG_INFERENCE):
        every += [(shape, dtype) for dtype in HALVES for shape in shapes]
    return list(dict.fromkeys([*every, *((shape, "float32") for shape in IN_FLOAT32)]))
