/** V8 otherwise compiles the embedded engine's code twice, which takes a second of processor time in each process. */
export const embeddedFlags = ["--liftoff-only"]
