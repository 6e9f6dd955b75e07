// Registry: the live objects of one kind by their handles, so that a stale or foreign handle is an
// error as in the driver and no crash. Guarded by the machine's lock.
#pragma once

#include <memory>
#include <unordered_map>

namespace strait::standin {

template <class Object, class Handle>
class Registry {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const Handle handle = reinterpret_cast<Handle>(object.get());
    objects_.emplace(handle, std::move(object));
    return handle;
  }
  std::shared_ptr<Object> find(Handle handle) const {
    const auto at = objects_.find(handle);
    return at == objects_.end() ? nullptr : at->second;
  }
  std::shared_ptr<Object> remove(Handle handle) {
    const auto at = objects_.find(handle);
    if (at == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(at->second);
    objects_.erase(at);
    return object;
  }
  // Removes what belongs to a context that is going.
  template <class Context>
  void remove_all_of(const Context& context) {
    std::erase_if(objects_, [&](const auto& entry) { return entry.second->context == context; });
  }
  size_t size() const { return objects_.size(); }

 private:
  std::unordered_map<Handle, std::shared_ptr<Object>> objects_;
};

}  // namespace strait::standin
