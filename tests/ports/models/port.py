"""The modelling file of a port, as the tests of this folder need one: small, and written anew.

It computes what the Llama, Qwen2, Gemma and Mixtral classes of transformers compute, under the
same module names, in another order: scaled queries, a boolean mask, all experts at once, and
partial sums over ``ranks`` in the row-parallel layers. ``faults`` names what is wrong with it, each
a mistake that ports are made with, as ``{fault: layer}``.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"silu": F.silu, "gelu_pytorch_tanh": lambda x: F.gelu(x, approximate="tanh"),
               "relu": F.relu, "gelu": F.gelu}  # fmt: skip


class Linear(nn.Module):
    """x W' + b; partial sums over ``ranks`` are rounded before they are added."""

    def __init__(self, weight, bias=None, *, ranks=1, transposed=False, upcast=False):
        super().__init__()
        self.weight, self.bias, self.ranks = weight, bias, ranks
        self.transposed, self.upcast = transposed, upcast

    def forward(self, x):
        weight = self.weight.T if self.transposed else self.weight
        weight, bias = weight.to(x.dtype), None if self.bias is None else self.bias.to(x.dtype)
        if self.upcast:
            return F.linear(x.float(), weight.float(), None if bias is None else bias.float())
        if self.ranks == 1:
            return F.linear(x, weight, bias)
        shards = zip(x.chunk(self.ranks, -1), weight.chunk(self.ranks, -1), strict=True)
        total = sum(F.linear(part, shard) for part, shard in shards)
        return total if bias is None else total + bias


class Norm(nn.Module):
    """RMSNorm, with the weight as it is, or as an offset from one."""

    def __init__(self, weight, eps, *, offset=False, low_variance=False):
        super().__init__()
        self.weight, self.eps = weight, eps
        self.offset, self.low_variance = offset, low_variance

    def forward(self, hidden_states):
        x = hidden_states if self.low_variance else hidden_states.float()
        normal = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        if self.offset:
            return (normal.float() * (self.weight.float() + 1)).to(hidden_states.dtype)
        return self.weight.to(hidden_states.dtype) * normal.to(hidden_states.dtype)


class Rotary(nn.Module):
    def __init__(self, frequencies, factor):
        super().__init__()
        self.frequencies, self.factor = frequencies, factor

    def forward(self, x, position_ids):
        angles = position_ids[..., None].float() * self.frequencies.float()
        angles = torch.cat((angles, angles), -1)
        return (angles.cos() * self.factor).to(x.dtype), (angles.sin() * self.factor).to(x.dtype)


def rotate(x, cos, sin):
    low, high = x.chunk(2, -1)
    return x * cos[:, None] + torch.cat((-high, low), -1) * sin[:, None]


class Attention(nn.Module):
    def __init__(self, config, layer, faults, parts):
        super().__init__()
        self.heads, self.groups = config.num_attention_heads, config.num_key_value_heads
        self.width = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.window = getattr(config, "sliding_window", None)
        self.scaled = faults.get("attention-scaling") != layer
        self.mask = "all" if faults.get("no-mask") == layer else "causal"
        if faults.get("no-window") == layer:
            self.window = None
        self.upcast = faults.get("upcast-attention") == layer
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, hidden_states, position_embeddings, **_):
        batch, length, _ = hidden_states.shape
        split = lambda x, heads: x.view(batch, length, heads, -1).transpose(1, 2)  # noqa: E731
        q = rotate(split(self.q_proj(hidden_states), self.heads), *position_embeddings)
        k = rotate(split(self.k_proj(hidden_states), self.groups), *position_embeddings)
        v = split(self.v_proj(hidden_states), self.groups)
        k, v = (x.repeat_interleave(self.heads // self.groups, 1) for x in (k, v))
        if self.upcast:
            q, k, v = q.float(), k.float(), v.float()
        if self.scaled:
            q = q / math.sqrt(self.width)
        scores = (q @ k.transpose(-1, -2)).float()
        at = torch.arange(length)
        far = at[:, None] - at
        hidden = far < (0 if self.mask == "causal" else -length)
        if self.window:
            hidden = hidden | (far >= self.window)
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1).to(q.dtype)
        mixed = (weights @ v).transpose(1, 2).reshape(batch, length, -1)
        return self.o_proj(mixed.to(hidden_states.dtype)), weights.to(hidden_states.dtype)


class Dense(nn.Module):
    def __init__(self, act, parts, *, crossed=False):
        super().__init__()
        self.act_fn, self.crossed = act, crossed
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x):
        gate, up = self.gate_proj(x), self.up_proj(x)
        if self.crossed:
            gate, up = up, gate
        return self.down_proj((self.act_fn(gate) * up).to(x.dtype)).to(x.dtype)


class Activation(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.function = ACTIVATIONS[name]

    def forward(self, x):
        return self.function(x)


class Router(nn.Module):
    def __init__(self, weight, top):
        super().__init__()
        self.weight, self.top = weight, top

    def forward(self, x):
        x = x.reshape(-1, x.shape[-1])
        shares = F.linear(x, self.weight.to(x.dtype)).float().softmax(-1)
        values, experts = shares.topk(self.top, -1)
        return shares, values / values.sum(-1, keepdim=True), experts


class Experts(nn.Module):
    """Every expert sees every token; the routing weights of the others are zero."""

    def __init__(self, gate_up, down, act, *, routing="used", ranks=1, crossed=False):
        super().__init__()
        self.gate_up, self.down, self.act, self.ranks = gate_up, down, ACTIVATIONS[act], ranks
        self.routing, self.crossed = routing, crossed

    def forward(self, x, experts, weights):
        count = len(self.gate_up)
        shares = torch.zeros(len(x), count, dtype=torch.float32).scatter(
            1, experts, weights.float()
        )
        if self.routing == "all":
            shares = torch.full_like(shares, 1 / count)
        elif self.routing == "binary":
            shares = (shares > 0).float()
        gate, up = torch.einsum("nd,efd->enf", x, self.gate_up.to(x.dtype)).chunk(2, -1)
        if self.crossed:
            gate, up = up, gate
        inner, down = self.act(gate) * up, self.down.to(x.dtype)
        parts = zip(inner.chunk(self.ranks, -1), down.chunk(self.ranks, -1), strict=True)
        out = sum(torch.einsum("enf,edf->end", part, shard) for part, shard in parts)
        return torch.einsum("end,ne->nd", out, shares.to(x.dtype))


class Sparse(nn.Module):
    def __init__(self, gate, experts):
        super().__init__()
        self.gate, self.experts = gate, experts

    def forward(self, hidden_states):
        x = hidden_states.reshape(-1, hidden_states.shape[-1])
        _, weights, experts = self.gate(x)
        return self.experts(x, experts, weights).view_as(hidden_states)


class Layer(nn.Module):
    def __init__(self, **parts):
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, hidden_states, position_embeddings, **_):
        attended, _ = self.self_attn(self.input_layernorm(hidden_states), position_embeddings)
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))


class Embedding(nn.Module):
    def __init__(self, weight, factor):
        super().__init__()
        self.weight, self.factor = weight, factor

    def forward(self, ids):
        found = F.embedding(ids, self.weight)
        return found if self.factor == 1 else found * torch.tensor(self.factor).to(found.dtype)


class Port(nn.Module):
    """The whole port, from the (dequantized) weights and the configuration of the reference."""

    def __init__(self, config, weights, *, faults=(), ranks=1):
        super().__init__()
        self.config, self.weights, self.faults, self.ranks = config, weights, dict(faults), ranks
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        plain = 1 / config.rope_parameters["rope_theta"] ** (torch.arange(0, head, 2) / head)
        frequencies, factor = weights["rotary"]
        if "rope-scaling" in self.faults:
            frequencies, factor = plain, 1.0
        scale = config.hidden_size**0.5 if config.model_type == "gemma" else 1
        self.embed_tokens = Embedding(weights["model.embed_tokens.weight"], scale)
        self.rotary_emb = Rotary(frequencies, factor)
        self.layers = nn.ModuleList(self._layer(at) for at in range(config.num_hidden_layers))
        self.norm = self._norm("model.norm", None)
        self.lm_head = Linear(weights["lm_head.weight"])

    def _has(self, fault, layer):
        return layer is not None and self.faults.get(fault) == layer

    def _linear(self, name, layer, row=False):
        path, last = f"model.layers.{layer}.{name}", name.rpartition(".")[2]
        source, swapped = path, {"gate_proj": "up_proj", "up_proj": "gate_proj"}
        if last in swapped and self._has("swapped-gate-up", layer):
            source = path.replace(last, swapped[last])
        bias = self.weights.get(f"{path}.bias")
        if self._has("bias", layer) and last in ("q_proj", "k_proj", "v_proj"):
            bias = None
        transposed = self._has("untransposed", layer) and last == "q_proj"
        transposed = transposed or (self._has("untransposed-o", layer) and last == "o_proj")
        upcast = self._has("upcast-mlp", layer) and "mlp" in name
        return Linear(self.weights[f"{source}.weight"], bias, ranks=self.ranks if row else 1,
                      transposed=transposed, upcast=upcast)  # fmt: skip

    def _norm(self, path, layer):
        offset = self.config.model_type == "gemma"
        return Norm(self.weights[f"{path}.weight"], self.config.rms_norm_eps,
                    offset=offset != self._has("norm-offset", layer),
                    low_variance=self._has("norm-variance", layer))  # fmt: skip

    def _layer(self, at):
        names = {"q_proj": False, "k_proj": False, "v_proj": False, "o_proj": True}
        linears = {n: self._linear(f"self_attn.{n}", at, row) for n, row in names.items()}
        act = getattr(self.config, "hidden_act", None) or self.config.hidden_activation
        if self._has("activation", at):
            act = "silu" if act.startswith("gelu") else "gelu"
        path = f"model.layers.{at}"
        return Layer(
            input_layernorm=self._norm(f"{path}.input_layernorm", at),
            self_attn=Attention(self.config, at, self.faults, linears),
            post_attention_layernorm=self._norm(f"{path}.post_attention_layernorm", at),
            mlp=self._sparse(path, at, act) if self.config.model_type == "mixtral"
            else self._dense(at, act),
        )  # fmt: skip

    def _dense(self, at, act):
        names = {"gate_proj": False, "up_proj": False, "down_proj": True}
        linears = {n: self._linear(f"mlp.{n}", at, row) for n, row in names.items()}
        return Dense(Activation(act), linears, crossed=self._has("crossed-gate-up", at))

    def _sparse(self, path, at, act):
        routing = next((r for r in ("all", "binary") if self._has(f"routing-{r}", at)), "used")
        experts = Experts(self.weights[f"{path}.mlp.experts.gate_up_proj"],
                          self.weights[f"{path}.mlp.experts.down_proj"], act, routing=routing,
                          ranks=self.ranks, crossed=self._has("crossed-gate-up", at))  # fmt: skip
        router = Router(self.weights[f"{path}.mlp.gate.weight"], self.config.num_experts_per_tok)
        return Sparse(router, experts)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        places = self.rotary_emb(x, torch.arange(ids.shape[1])[None])
        for layer in self.layers:
            x = layer(x, places)
        return self.lm_head(self.norm(x))
