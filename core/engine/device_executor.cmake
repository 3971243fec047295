etna_room(device_executor
  SOURCES device_executor.cpp device_inputs.cpp device_model.cpp device_plan.cpp device_warm_up.cpp
  LINK etna_engine etna_gguf etna_model
  PRIVATE_LINK fmt::fmt)
