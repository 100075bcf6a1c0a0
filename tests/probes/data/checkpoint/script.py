import tinker

# An old one: tinker://old-run/weights/000010
SAMPLER = "tinker://run-1:train:0/sampler_weights/final"
client = service.create_sampling_client(model_path="tinker://run-1:train:0/weights/final")
trainer = service.create_training_client_from_state(
    "tinker://run-1:train:0/sampler_weights/final",
)
weights.download(tinker_path="tinker://run-1:train:0/sampler_weights/final", output_dir=".")
path = f"tinker://{run_id}/weights/{name}"
bad = "tinker://run-1:train:0/sampler_weights/a/b"
print("see tinker://<run-id>/weights/<name> for the form")
