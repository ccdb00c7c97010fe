// Kernels of chords.
#include "target.h"
#include "functions.h"
#include "wide.h"
#include "chords.h"
