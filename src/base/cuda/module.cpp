#include "base/cuda/module.hpp"

namespace strait::cuda {

Result<Module> Module::load(const Driver& driver, ContextHandle context, const void* image) {
  STRAIT_ASSIGN(const ContextScope scope, ContextScope::enter(driver, context));
  ModuleHandle handle = nullptr;
  STRAIT_TRY(driver.cuModuleLoadData(&handle, image).at("loading kernels"));
  Module module;
  module.module_ = {driver, context, handle, [](const Driver& owner, ModuleHandle mine) {
                      report_release("cuModuleUnload", owner.cuModuleUnload.code(mine));
                    }};
  return module;
}

Result<Kernel> Module::kernel(const std::string& name) const {
  const Driver& driver = module_.driver();
  FunctionHandle function = nullptr;
  STRAIT_TRY(
      driver.cuModuleGetFunction(&function, module_.get(), name.c_str()).at("kernel " + name));
  return Kernel(driver, function, name);
}

Result<KernelFacts> Kernel::facts() const {
  KernelFacts facts;
  const auto ask = [this](int& value, FunctionAttribute which) {
    return driver_->cuFuncGetAttribute(&value, which, function_).at("kernel " + name_);
  };
  STRAIT_TRY(ask(facts.registers, kFunctionRegisters));
  STRAIT_TRY(ask(facts.local_bytes, kFunctionLocalBytes));
  STRAIT_TRY(ask(facts.shared_bytes, kFunctionSharedBytes));
  STRAIT_TRY(ask(facts.threads_max, kFunctionMaxThreads));
  return facts;
}

Status Kernel::allow_shared_bytes(int bytes) const {
  return driver_->cuFuncSetAttribute(function_, kFunctionMaxDynamicSharedBytes, bytes)
      .at(fmt::format("{} bytes of shared memory for kernel {}", bytes, name_));
}

Result<int> Kernel::blocks_per_multiprocessor(int threads, size_t shared_bytes) const {
  int blocks = 0;
  STRAIT_TRY(
      driver_
          ->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function_, threads, shared_bytes)
          .at("kernel " + name_));
  return blocks;
}

}  // namespace strait::cuda
