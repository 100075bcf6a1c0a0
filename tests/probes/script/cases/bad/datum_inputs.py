"""loss_fn_inputs that the loss does not take."""
import numpy as np
import tinker
from tinker import types


def chosen(tokens):
    return types.Datum(
        model_input=types.ModelInput(chunks=[types.EncodedTextChunk(tokens=np.array(tokens))]),
        loss_fn_inputs={"weights": [1.0] * len(tokens), "preference": 1.0},
    )


def masked(tokens, mask):
    inputs = dict(target_tokens=tokens[1:], labels=tokens, mask=mask)
    return types.Datum(model_input=types.ModelInput.from_ints(tokens[:-1]), loss_fn_inputs=inputs)


def size(image):
    chunk = types.ImageChunk(data=image, format="png")
    print(chosen([1]).model_dump())
    return chunk.length
