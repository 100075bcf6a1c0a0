"""Makes base models, adapters and merged models of three families with several layers, for merges
that are wrong (or look so) in ways that one layer cannot show.

``llama`` keeps every projection apart, ``fused`` is exported with qkv_proj and gate_up_proj, as
serving engines want it, and ``moe`` has stacked experts below ``model.language_model.``. All
arithmetic is written out here, independently of the probe.
"""

import json
import math

import numpy as np

HIDDEN, KV, INNER, EXPERTS, VOCAB, LAYERS = 32, 16, 24, 3, 64, 4
RANK, ALPHA = 4, 12
FAMILIES = ("llama", "fused", "moe")


def bf16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def f32(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def rounded(values):
    return f32(bf16(values))


def halved(values):
    return values.astype(np.float16).astype(np.float32)


class Farm:
    """One base model and its adapter in float32; ``save_*`` write them, ``export`` a merge."""

    def __init__(self, root, family, save):
        self.root, self.family, self.save = root, family, save
        self.prefix = "model.language_model." if family == "moe" else "model."
        self.renew()

    def renew(self, *, exact=False, tied=False, drop_head=True):
        """Begin again with another kind of base model."""
        self.tied, family = tied, self.family
        self.exact = exact  # the base is stored in float32
        self.base = self._base(np.random.default_rng(11))
        if tied:
            del self.base["lm_head.weight"]
            if not drop_head:
                self.base["lm_head.weight"] = self.base[self.prefix + "embed_tokens.weight"]
        self.lora = self.make_lora(12)
        self.config = {
            "model_type": "qwen3_5_moe" if family == "moe" else "llama",
            "architectures": ["Qwen3_5MoeForConditionalGeneration" if family == "moe"
                              else "LlamaForCausalLM"],
            "tie_word_embeddings": tied, "num_hidden_layers": LAYERS, "hidden_size": HIDDEN,
        }  # fmt: skip

    def _base(self, rng):
        def weight(*shape, size=0.05):
            values = (rng.standard_normal(shape) * size).astype(np.float32)
            return values if self.exact else rounded(values)

        p = self.prefix
        base = {"lm_head.weight": weight(VOCAB, HIDDEN),
                p + "embed_tokens.weight": weight(VOCAB, HIDDEN),
                p + "norm.weight": 1 + weight(HIDDEN)}  # fmt: skip
        for layer in range(LAYERS):
            at = f"{p}layers.{layer}."
            for name in ("input_layernorm", "post_attention_layernorm"):
                base[f"{at}{name}.weight"] = rounded(1 + weight(HIDDEN))
            for name, rows in (("q", HIDDEN), ("k", KV), ("v", KV), ("o", HIDDEN)):
                base[f"{at}self_attn.{name}_proj.weight"] = weight(rows, HIDDEN)
                if name != "o":
                    base[f"{at}self_attn.{name}_proj.bias"] = weight(rows)
            if self.family == "moe":
                base[at + "mlp.gate.weight"] = weight(EXPERTS, HIDDEN)
                base[at + "mlp.experts.gate_up_proj"] = weight(EXPERTS, 2 * INNER, HIDDEN)
                base[at + "mlp.experts.down_proj"] = weight(EXPERTS, HIDDEN, INNER)
                continue
            for name in ("gate", "up"):
                base[f"{at}mlp.{name}_proj.weight"] = weight(INNER, HIDDEN)
            base[at + "mlp.down_proj.weight"] = weight(HIDDEN, INNER)
        return base

    def make_lora(self, seed, ranks=None, head=None):
        """Module -> (a, b); ``ranks`` are those of modules whose name holds a word."""
        rng = np.random.default_rng(seed)

        def pair(module, out, width, experts=0):
            rank = next((r for word, r in (ranks or {}).items() if word in module), RANK)
            lead = (experts,) if experts else ()
            a = rng.standard_normal((*((1,) if experts else ()), rank, width)) / width**0.5
            b = rng.standard_normal((*lead, out, rank)) * 0.02
            return a.astype(np.float32), b.astype(np.float32)

        lora = {}
        for layer in range(LAYERS):
            at = f"layers.{layer}."
            for name, rows in (("q", HIDDEN), ("k", KV), ("v", KV), ("o", HIDDEN)):
                module = f"{at}self_attn.{name}_proj"
                lora[module] = pair(module, rows, HIDDEN)
            if self.family == "moe":
                for name, out, width in (("w1", INNER, HIDDEN), ("w3", INNER, HIDDEN),
                                         ("w2", HIDDEN, INNER)):  # fmt: skip
                    module = f"{at}mlp.experts.{name}"
                    lora[module] = pair(module, out, width, EXPERTS)
                continue
            for name, out, width in (("gate", INNER, HIDDEN), ("up", INNER, HIDDEN),
                                     ("down", HIDDEN, INNER)):  # fmt: skip
                module = f"{at}mlp.{name}_proj"
                lora[module] = pair(module, out, width)
        if self.tied if head is None else head:
            lora["unembed_tokens"] = pair("unembed_tokens", VOCAB, HIDDEN)
        return lora

    # --- the right update, tensor by tensor ---

    def updates(self, lora=None, scale=None, source=None):
        """Tensor -> update in float32. ``scale(module, rank)`` and ``source(module)`` (whose
        matrices a module gets) may be wrong on purpose."""
        lora = self.lora if lora is None else lora
        found: dict[str, np.ndarray] = {}
        for module in lora:
            a, b = lora[(source or (lambda m: m))(module)]
            factor = scale(module, a.shape[-2]) if scale else ALPHA / a.shape[-2]
            update = np.matmul(b * np.float32(factor), a)
            self.place(found, module, update)
        return found

    def place(self, found, module, update):
        """Put the update of a module where its tensor has it."""
        head, _, leaf = module.rpartition(".")
        if leaf == "unembed_tokens":
            tied = self.prefix + "embed_tokens.weight"
            found["lm_head.weight" if "lm_head.weight" in self.base else tied] = update
        elif leaf in ("w1", "w3"):
            name = f"{self.prefix}{head}.gate_up_proj"
            into = found.setdefault(name, np.zeros(self.base[name].shape, np.float32))
            into[:, INNER if leaf == "w3" else 0 : 2 * INNER if leaf == "w3" else INNER] = update
        elif leaf == "w2":
            found[f"{self.prefix}{head}.down_proj"] = update
        else:
            found[f"{self.prefix}{module}.weight"] = update

    def merged(self, updates=None, base=None):
        """Tensor -> merged numbers in float32, before they are stored."""
        result = dict(self.base if base is None else base)
        for name, update in (self.updates() if updates is None else updates).items():
            result[name] = result[name] + update
        return result

    # --- files ---

    def save_base(self, config=None):
        stored = {k: v if self.exact else bf16(v) for k, v in self.base.items()}
        return self._write("base", stored, {**self.config, **(config or {})})

    def save_adapter(self, name="adapter", lora=None, extra=None, **config):
        tensors = dict(extra or {})
        for module, (a, b) in (self.lora if lora is None else lora).items():
            tensors[f"base_model.model.model.{module}.lora_A.weight"] = a
            tensors[f"base_model.model.model.{module}.lora_B.weight"] = b
        folder = self.root / name
        self.save(folder / "adapter_model.safetensors", tensors)
        text = {"r": RANK, "lora_alpha": ALPHA, "peft_type": "LORA", **config}
        (folder / "adapter_config.json").write_text(json.dumps(text))
        return folder

    def export(self, tensors=None, *, dtype="bf16", rename=None, extra=None, shards=1, lost=(),
               index=True, config=None, fuse=True, apart=False):  # fmt: skip
        """Write the merged model in the form of the family."""
        tensors = self.merged() if tensors is None else tensors
        if self.family == "fused" and fuse:
            tensors = fused(tensors)
        if apart:
            tensors = unstacked(tensors)
        tensors = tensors | (extra or {})
        if rename:
            tensors = {rename(name): values for name, values in tensors.items()}
        stores = {"bf16": bf16, "f32": lambda v: v.astype(np.float32),
                  "f16": lambda v: v.astype(np.float16)}  # fmt: skip
        stored = {name: stores[dtype](values) for name, values in tensors.items()}
        whole = {**self.config, **(config or {})}
        return self._write("merged", stored, whole, shards, lost, index)

    def _write(self, name, stored, config, shards=1, lost=(), index=True):
        folder, names = self.root / name, sorted(stored)
        folder.mkdir(parents=True, exist_ok=True)
        each = -(-len(names) // shards)
        where: dict[str, str] = {}
        for shard in range(shards):
            file = (f"model-{shard + 1:05d}-of-{shards:05d}.safetensors" if shards > 1
                    else "model.safetensors")  # fmt: skip
            part = names[shard * each : (shard + 1) * each]
            where |= dict.fromkeys(part, file)
            if shard not in lost:
                self.save(folder / file, {name: stored[name] for name in part})
        if shards > 1 and index:
            text = json.dumps({"metadata": {}, "weight_map": where})
            (folder / "model.safetensors.index.json").write_text(text)
        (folder / "config.json").write_text(json.dumps(config))
        return folder


def fused(tensors):
    """q, k and v in one tensor, gate and up in another, one after the other."""
    result = {}
    for name, values in tensors.items():
        for parts, whole in ((("q_proj", "k_proj", "v_proj"), "qkv_proj"),
                             (("gate_proj", "up_proj"), "gate_up_proj")):  # fmt: skip
            if f".{parts[0]}." in name:
                others = [name.replace(parts[0], part) for part in parts]
                kept = [tensors[other] for other in others if other in tensors]
                result[name.replace(parts[0], whole)] = np.concatenate(kept)
                break
            if any(f".{part}." in name for part in parts):
                break
        else:
            result[name] = values
    return result


def unstacked(tensors):
    """Each expert with tensors of its own."""
    result = {}
    for name, values in tensors.items():
        head, _, leaf = name.rpartition(".")
        if leaf == "gate_up_proj":
            for expert, both in enumerate(values):
                result[f"{head}.{expert}.gate_proj.weight"] = both[:INNER]
                result[f"{head}.{expert}.up_proj.weight"] = both[INNER:]
        elif leaf == "down_proj":
            for expert, one in enumerate(values):
                result[f"{head}.{expert}.down_proj.weight"] = one
        else:
            result[name] = values
    return result


def layer_of(module):
    return int(module.split(".")[1]) if module.startswith("layers.") else None


def other_layer(module, step):
    layer = layer_of(module)
    if layer is None:
        return module
    return module.replace(f"layers.{layer}.", f"layers.{(layer + step) % LAYERS}.", 1)


def root_scale(_, rank):
    return ALPHA / math.sqrt(rank)
