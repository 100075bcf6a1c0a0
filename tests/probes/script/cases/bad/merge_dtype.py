"""dtype has no effect with the default strategy; a sampler checkpoint cannot be downloaded."""
import subprocess

from tinker_cookbook import weights

weights.download(tinker_path="tinker://run/sampler_weights/final", output_dir="adapter")
weights.build_hf_model(
    base_model="Qwen/Qwen3-8B", adapter_path="adapter", output_path="merged", dtype="float32"
)
subprocess.run(["python", "-m", "tinker_cookbook.utils.trace", "trace.jsonl", "-o", "out.json"])
subprocess.run(["pyinstrument", "--async-mode=enabled", "train.py"])
