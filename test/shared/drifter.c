/* An FMU of FMI 2, or of FMI 3 with -DFMI3: the functions that a co-simulation calls, no others.
   It drifts north and turns about the vertical at constant rates, which has a solution in closed form,
   and adds up its input. It can crash, fail and hang at a time. That of FMI 3 has an array, sized in its configuration
   mode: the way north at 0, 1, 2, ... times the speed. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { SPEED, TURN, INPUT, SUM, NORTH, EAST, DOWN, QX, QY, QZ, QW, CRASH_AT, FAIL_AT, HANG_AT, COUNT, LINE };
typedef struct { double v[COUNT]; double time; uint64_t length; bool configured; } Unit;

static void update(Unit *u) {
    u->v[NORTH] = u->v[SPEED] * u->time;
    u->v[QZ] = sin(0.5 * u->v[TURN] * u->time);
    u->v[QW] = cos(0.5 * u->v[TURN] * u->time);
}

static void *begin(void) {
    Unit *u = calloc(1, sizeof(Unit));
    u->length = 2;
    u->v[CRASH_AT] = u->v[FAIL_AT] = u->v[HANG_AT] = 1e9;
    update(u);
    return u;
}

static int advance(Unit *u, double time, double step) {
    u->v[SUM] += u->v[INPUT] * step;
    u->time = time + step;
    update(u);
    if (u->time >= u->v[CRASH_AT]) { fprintf(stderr, "the wing is off\n"); fflush(stderr); abort(); }
    if (u->time >= u->v[HANG_AT]) for (;;) sleep(1);
    return u->time >= u->v[FAIL_AT] ? 3 : 0;
}

static int get(Unit *u, const unsigned *vr, size_t n, double *value) {
    for (size_t i = 0; i < n; i++) value[i] = u->v[vr[i]];
    return 0;
}

static int set(Unit *u, const unsigned *vr, size_t n, const double *value) {
    for (size_t i = 0; i < n; i++) u->v[vr[i]] = value[i];
    return 0;
}

static int copy(Unit *u, void **state) { *state = memcpy(malloc(sizeof(Unit)), u, sizeof(Unit)); return 0; }
static int put(Unit *u, void *state) { memcpy(u, state, sizeof(Unit)); return 0; }
static int drop(void **state) { free(*state); *state = NULL; return 0; }
static int size_of(size_t *size) { *size = sizeof(Unit); return 0; }
static int bytes_of(void *state, char *bytes, size_t size) { memcpy(bytes, state, size); return 0; }
static int state_of(const char *bytes, size_t size, void **state) {
    *state = memcpy(malloc(sizeof(Unit)), bytes, size);
    return 0;
}

#ifdef FMI3
void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
    bool events, bool early, const unsigned *required, size_t n, void *environment, void *log, void *intermediate) {
    return begin();
}
void fmi3FreeInstance(void *u) { free(u); }
int fmi3EnterInitializationMode(void *u, bool t, double tolerance, double start, bool s, double stop) { return 0; }
int fmi3ExitInitializationMode(void *u) { update(u); return 0; }
int fmi3DoStep(void *u, double time, double step, bool keep, bool *event, bool *terminate, bool *early, double *last) {
    *event = *terminate = *early = false;
    *last = time + step;
    return advance(u, time, step);
}
int fmi3EnterConfigurationMode(Unit *u) { u->configured = true; return 0; }
int fmi3ExitConfigurationMode(Unit *u) { u->configured = false; return 0; }
int fmi3SetUInt64(Unit *u, const unsigned *vr, size_t n, const uint64_t *v, size_t m) {
    if (!u->configured || n != 1 || vr[0] != COUNT) return 3;
    u->length = v[0];
    return 0;
}
int fmi3GetFloat64(Unit *u, const unsigned *vr, size_t n, double *v, size_t m) {
    if (vr[0] != LINE) return get(u, vr, n, v);
    if (m != u->length) return 3;
    for (size_t i = 0; i < m; i++) v[i] = i * u->v[NORTH];
    return 0;
}
int fmi3SetFloat64(void *u, const unsigned *vr, size_t n, const double *v, size_t m) { return set(u, vr, n, v); }
int fmi3GetFMUState(void *u, void **state) { return copy(u, state); }
int fmi3SetFMUState(void *u, void *state) { return put(u, state); }
int fmi3FreeFMUState(void *u, void **state) { return drop(state); }
int fmi3SerializedFMUStateSize(void *u, void *state, size_t *size) { return size_of(size); }
int fmi3SerializeFMUState(void *u, void *state, char *bytes, size_t size) { return bytes_of(state, bytes, size); }
int fmi3DeserializeFMUState(void *u, const char *bytes, size_t n, void **state) { return state_of(bytes, n, state); }
#else
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks,
    int visible, int logging) {
    return begin();
}
void fmi2FreeInstance(void *u) { free(u); }
int fmi2SetupExperiment(void *u, int t, double tolerance, double start, int s, double stop) { return 0; }
int fmi2EnterInitializationMode(void *u) { return 0; }
int fmi2ExitInitializationMode(void *u) { update(u); return 0; }
int fmi2DoStep(void *u, double time, double step, int keep) { return advance(u, time, step); }
int fmi2GetReal(void *u, const unsigned *vr, size_t n, double *v) { return get(u, vr, n, v); }
int fmi2SetReal(void *u, const unsigned *vr, size_t n, const double *v) { return set(u, vr, n, v); }
int fmi2GetFMUstate(void *u, void **state) { return copy(u, state); }
int fmi2SetFMUstate(void *u, void *state) { return put(u, state); }
int fmi2FreeFMUstate(void *u, void **state) { return drop(state); }
int fmi2SerializedFMUstateSize(void *u, void *state, size_t *size) { return size_of(size); }
int fmi2SerializeFMUstate(void *u, void *state, char *bytes, size_t size) { return bytes_of(state, bytes, size); }
int fmi2DeSerializeFMUstate(void *u, const char *bytes, size_t n, void **state) { return state_of(bytes, n, state); }
#endif
