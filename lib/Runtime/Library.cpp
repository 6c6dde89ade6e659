//===-- Library.cpp - A compiled shared library, loaded ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // dladdr1
#endif
#include "blockscale/Runtime/Library.h"
#include "Descriptor.h"
#include "ElfCheck.h"

#include <cstring>
#include <dlfcn.h>
#include <link.h>

using namespace blockscale::runtime;

/// The characters at a symbol, or nullopt if no zero byte ends them inside it.
static std::optional<std::string_view> textOf(const void *symbol) {
  Dl_info info;
  const ElfW(Sym) *entry = nullptr;
  const char *text = static_cast<const char *>(symbol);
  if (!dladdr1(symbol, &info,
               reinterpret_cast<void **>(const_cast<ElfW(Sym) **>(&entry)),
               RTLD_DL_SYMENT) ||
      !entry || entry->st_size == 0)
    return std::string_view(text);
  size_t length = strnlen(text, entry->st_size);
  if (length == entry->st_size)
    return std::nullopt;
  return std::string_view(text, length);
}

const void *Library::symbol(const std::string &name) const {
  return dlsym(handle, name.c_str());
}

std::unique_ptr<Library> Library::open(const std::string &path,
                                       std::string &error) {
  if (!checkSharedLibrary(path, error))
    return nullptr;
  std::unique_ptr<Library> library(new Library);
  library->path = path;
  // A bare name would be searched for in the system's folders.
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  library->handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library->handle) {
    std::string why = dlerror();
    if (why.rfind(file + ": ", 0) == 0)
      why.erase(0, file.size() + 2);
    error = "cannot load '" + path + "': " + why;
    return nullptr;
  }
  if (!library->readManifest(error)) {
    error = "cannot use '" + path + "': " + error;
    return nullptr;
  }
  return library;
}

std::unique_ptr<Library> Library::open(const std::string &path,
                                       std::unique_ptr<Device> device,
                                       std::string &error) {
  std::unique_ptr<Library> library = open(path, error);
  if (library && !library->bind(std::move(device), error))
    return nullptr;
  return library;
}

std::unique_ptr<Library> Library::openFor(const std::string &path,
                                          std::string_view deviceName,
                                          std::string &error) {
  // A name that is none is said before anything else.
  std::unique_ptr<Device> device;
  if (!deviceName.empty() && !(device = Device::create(deviceName, error)))
    return nullptr;
  std::unique_ptr<Library> library = open(path, error);
  if (!library)
    return nullptr;
  if (!device)
    device =
        Device::create(Device::defaultFor(library->manifest().target), error);
  if (!device || !library->bind(std::move(device), error))
    return nullptr;
  return library;
}

bool Library::readManifest(std::string &error) {
  const void *found = symbol("blockscale_manifest");
  if (!found) {
    error = "it exports no 'blockscale_manifest'; libraries are made by "
            "blockscale-compile --emit=shared";
    return false;
  }
  std::optional<std::string_view> json = textOf(found);
  if (!json) {
    error = "malformed manifest: its text does not end";
    return false;
  }
  std::optional<Manifest> manifest = Manifest::parse(*json, error);
  if (!manifest)
    return false;
  text = *json;
  description = std::move(*manifest);
  for (const Entry &entry : description.entries) {
    std::string name = "blockscale_entry_" + entry.name;
    const void *function = symbol(name);
    if (!function) {
      error = "its manifest names '" + entry.name + "', but it exports no '" +
              name + "'";
      return false;
    }
    functions.push_back(
        reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(function)));
  }
  callGuarded =
      reinterpret_cast<decltype(callGuarded)>(dlsym(handle, "blockscale_call"));
  return true;
}

bool Library::bind(std::unique_ptr<Device> device, std::string &error) {
  std::string why;
  if (!device->prepare(description.target, why)) {
    error = "cannot use '" + path + "': " + why;
    return false;
  }
  where = std::move(device);
  if (GPUDevice *gpu = where->asGPU())
    onGPU = std::shared_ptr<GPUDevice>(where, gpu);
  if (onGPU && !loadKernels(why)) {
    error = "cannot use '" + path + "': " + why;
    return false;
  }
  return true;
}

bool Library::loadKernels(std::string &error) {
  setDevice = reinterpret_cast<decltype(setDevice)>(
      dlsym(handle, "blockscale_set_device"));
  const void *ptx = symbol("blockscale_ptx");
  if (!setDevice || !ptx) {
    error = std::string("it was compiled for '") + description.target +
            "', but exports no '" +
            (ptx ? "blockscale_set_device" : "blockscale_ptx") + "'";
    return false;
  }
  std::optional<std::string_view> code = textOf(ptx);
  if (!code) {
    error = "its PTX does not end";
    return false;
  }
  module = onGPU->load(code->data(), description.kernels, error);
  return module != nullptr;
}

Library::~Library() {
  module.reset(); // Waits for its kernels.
  if (handle)
    dlclose(handle);
}

bool Library::check(const Entry &entry, const std::vector<TensorView> &inputs,
                    std::string &error) {
  if (inputs.size() != entry.inputs.size()) {
    error = "'" + entry.name + "' expects " +
            std::to_string(entry.inputs.size()) + " inputs, but got " +
            std::to_string(inputs.size());
    return false;
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string why;
    if (checkArray(entry.inputs[i], inputs[i], why))
      continue;
    error = "input " + std::to_string(i) + " of '" + entry.name + "' " + why;
    return false;
  }
  return true;
}
