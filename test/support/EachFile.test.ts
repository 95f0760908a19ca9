import { assert, it } from "@effect/vitest"
import { Option } from "effect"

it("assertions distinguish Some and None, also inside other values", () => {
  for (const wrap of [<A>(value: A) => value, <A>(value: A) => [{ value }]]) {
    const [some, none] = [wrap(Option.some(1)), wrap(Option.none())]
    assert.deepStrictEqual(some, wrap(Option.some(1)))
    assert.notDeepEqual<unknown>(some, none)
    assert.notDeepEqual<unknown>(none, some)
    assert.notDeepEqual(some, wrap(Option.some(2)))
  }
})
