#include "suite.h"
START_TEST(a){} END_TEST
SUITE_MAIN("x", a)
