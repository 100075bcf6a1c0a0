"""Download and merge with the cookbook."""
from tinker_cookbook import weights

folder = weights.download(tinker_path="tinker://run-1/weights/final", output_dir="adapter")
weights.build_hf_model(base_model="Qwen/Qwen3-8B", adapter_path=folder, output_path="merged")
