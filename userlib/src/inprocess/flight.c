#include "flight.h"
void at_flight_forked(void) {}
