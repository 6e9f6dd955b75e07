// What of {fmt}'s ranges the library uses, join(), is in format.h; this file is for whoever
// includes it by the name that it has in {fmt}.
#pragma once

#include "fmt/format.h"
