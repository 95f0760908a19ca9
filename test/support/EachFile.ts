import { effect, flakyTest, it, layer, live, prop, scoped, scopedLive } from "@effect/vitest"

// `layer` overwrites the methods of vitest's one `it`, and the files of a worker share it.
Object.assign(it, { effect, flakyTest, layer, live, prop, scoped, scopedLive })
