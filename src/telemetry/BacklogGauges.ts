import { Schema } from "effect"
import type { Series } from "./Metrics.ts"

interface Gauge {
  readonly of: (name: string) => Series
}

/** `name`: the group of entries, for example the reason why they wait. `age`: of the oldest entry, in seconds. */
export const BacklogRow = Schema.Struct({
  name: Schema.String,
  count: Schema.Number,
  age: Schema.NullOr(Schema.Number)
})

/**
 * Sets the gauges of each name; a name without a row has the count 0 and the age 0. An age is at least 0: the rows may be
 * read by a clock that is behind the one that wrote them.
 */
export const setBacklog = (
  rows: ReadonlyArray<typeof BacklogRow.Type>,
  names: ReadonlyArray<string>,
  gauges: { readonly count: Gauge; readonly age?: Gauge }
) => {
  for (const name of names) {
    const row = rows.find((each) => each.name === name)
    gauges.count.of(name).add(row?.count ?? 0)
    gauges.age?.of(name).add(Math.max(0, row?.age ?? 0))
  }
}
