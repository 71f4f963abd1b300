# Define optimization profiles for dynamic shapes
profile = builder.create_optimization_profile()

# Set min, optimal, and max shapes
profile.set_shape("input",
    min=(1, 3, 224, 224),   # Minimum batch size 1
    opt=(8, 3, 224, 224),   # Optimal batch size 8
    max=(32, 3, 224, 224)   # Maximum batch size 32
)

config.add_optimization_profile(profile)
