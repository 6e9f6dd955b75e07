// The driver's names of errors, for cuGetErrorName. Null for a number that the stand-in never
// returns. Any thread.
#pragma once

namespace strait::standin {

const char* error_name(int code);

}  // namespace strait::standin
