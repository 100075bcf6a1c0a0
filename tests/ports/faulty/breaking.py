"""Building blocks of faults: other weights, other functions, other settings."""

import torch

SCALE, CAP, WINDOW = "attention-scale-wrong", "softcap-wrong", "attention-window-wrong"


def heads(config):
    return config.num_attention_heads, getattr(
        config, "num_key_value_heads", None
    ) or config.num_attention_heads


def width(config):
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def has(port, name):
    return getattr(port.config, name, None) not in (None, False)


def without_residual(model, number, factor):
    layer = next(m for n, m in model.named_modules() if n.endswith(f"layers.{number}"))

    def forward(hidden_states, **kwargs):
        found = layer.self_attn(hidden_states=layer.input_layernorm(hidden_states), **kwargs)[0]
        hidden_states = found * factor
        made = layer.mlp(layer.post_attention_layernorm(hidden_states))
        made = made[0] if isinstance(made, tuple) else made
        return hidden_states + made * factor

    layer.forward = forward


def set_scaling(model, port, value):
    for name, module in model.named_modules():
        if name.endswith((f"layers.{port.layer}.self_attn", f"layers.{port.layer}.attention")):
            module.scaling = value


def wrap_attention(port, change):
    """``change(query, key, value, mask, scaling)`` gives what the attention gets instead."""

    def around(original):
        def attend(module, query, key, value, attention_mask, scaling=None, **kwargs):
            given = change(module, query, key, value, attention_mask, scaling)
            return original(module, *given[:4], scaling=given[4], **kwargs)

        return attend

    return port.wrap("eager_attention_forward", around)


def mask(port, seen):
    """``seen(rows, columns)`` says which positions are seen instead; both count from 0."""

    def change(module, query, key, value, mask, scaling):
        total, count = key.shape[-2], query.shape[-2]
        row = torch.arange(total - count, total)[:, None]
        column = torch.arange(total)[None]
        allowed = seen(row, column, mask[0, 0] > -1 if mask is not None else None)
        low = torch.finfo(query.dtype).min
        found = torch.zeros(allowed.shape, dtype=query.dtype).masked_fill(~allowed, low)
        return query, key, value, found[None, None], scaling

    return wrap_attention(port, change)


def alternating(values):
    """Rows of a fused matrix that lie in halves, read as if they alternated."""
    return torch.cat((values[..., ::2, :], values[..., 1::2, :]), -2)


def by_head(values, size, order):
    blocks = values.reshape(-1, size, *values.shape[1:])
    return blocks[order(len(blocks))].reshape(values.shape)


def reorder_rows(port, part, order):
    size = width(port.config)
    found = port.scale_rows(rf"self_attn\.{part}\.weight", lambda w: by_head(w, size, order))
    port.scale_rows(rf"self_attn\.{part}\.bias", lambda w: by_head(w, size, order))
    return found


def exchange(port, first, second):
    done = False
    for kind in ("weight", "bias"):
        one, two = port.name(rf"{first}\.{kind}"), port.name(rf"{second}\.{kind}")
        if one and two:
            done = True
            port.weights[one], port.weights[two] = port.weights[two], port.weights[one]
    return done


def wrap_rotary(port, change):
    def around(original):
        return lambda q, k, cos, sin, *args, **kwargs: change(original, q, k, cos, sin)

    return port.wrap("apply_rotary_pos_emb", around)


def wrap_table(port, change):
    def add(model):
        module = next(m for n, m in model.named_modules() if n.endswith("rotary_emb"))
        inner = module.forward
        module.forward = lambda x, position_ids, *args, **kwargs: inner(
            x, change(position_ids), *args, **kwargs
        )

    port.changes.append(add)


def of_other(port, ending):
    name = port.name(ending)
    if name is None:
        return False
    other = name.replace(f"layers.{port.layer}.", f"layers.{1 - port.layer}.")
    port.weights[name] = port.weights[other].clone()
    return True


def pass_on(module):
    module.forward = lambda x, *args: x


def rope_of(port):
    given = getattr(port.config, "rope_parameters", None)
    return given if given and "rope_theta" in given else None


def wrap_router(port, change):
    """``change(logits)`` gives the weights of the chosen experts and their numbers."""

    def add(model):
        ends = tuple(f"layers.{port.layer}.mlp.{end}" for end in ("gate", "router"))
        gate = next(m for n, m in model.named_modules() if n.endswith(ends))
        inner = gate.forward

        def forward(hidden):
            logits = torch.nn.functional.linear(hidden.reshape(-1, hidden.shape[-1]), gate.weight,
                                                getattr(gate, "bias", None))  # fmt: skip
            chosen, numbers = change(logits.float())
            return (inner(hidden)[0], chosen.to(hidden.dtype), numbers)

        gate.forward = forward

    if not port.name(r"mlp\.gate\.weight"):
        return False
    port.changes.append(add)
    return True


def normalises(port):
    return getattr(port.config, "norm_topk_prob", True)


UNKNOWN = "none"


ATTENTION = ("self_attn", "attention")


RMS = ("llama", "mistral", "qwen2", "qwen3", "phi3", "granite", "mixtral", "qwen2_moe", "qwen3_moe",
       "gpt_oss", "glm4")  # fmt: skip


def set_activation(port, name):
    key = "hidden_activation" if hasattr(port.config, "hidden_activation") else "hidden_act"
    if port.config.model_type == "gpt_oss":
        return False
    setattr(port.config, key, name)
    return None


def drop_biases(port, parts):
    done = [
        port.scale_rows(rf"(self_attn|attention)\.({part})\.bias", lambda b: b * 0)
        for part in parts
    ]
    return any(done)


def wrap_scaling(port, change):
    inside = {"on": False}

    def add(model):
        ends = tuple(f"layers.{port.layer}.{end}" for end in ATTENTION)
        layer = next(m for n, m in model.named_modules() if n.endswith(ends))
        inside["module"] = layer

    port.changes.append(add)

    def of(module, q, k, v, mask, scaling):
        return q, k, v, mask, change(scaling) if module is inside["module"] else scaling

    return wrap_attention(port, of)


def half_of_input(w):
    found = w.clone()
    found[:, : w.shape[1] // 2] = 0
    return found


def replace_norm(port, ending, make):
    def add(model):
        norm = next(
            m for n, m in model.named_modules() if n.endswith(f"layers.{port.layer}.{ending}")
        )
        norm.forward = make(norm)

    if not port.name(rf"{ending}\.weight"):
        return False
    port.changes.append(add)
    return None


def is_rms(port):
    return port.config.model_type in RMS
