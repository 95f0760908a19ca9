import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import shapes from "../../src/console/Icons.json" with { type: "json" }

it("the icons are the same as in the package", () => {
  assert.isAtLeast(Object.keys(shapes).length, 20)
  for (const [name, shape] of Object.entries(shapes)) {
    const svg = readFileSync(`node_modules/lucide-static/icons/${name}.svg`, "utf8")
    assert.include(svg, "@license lucide-static")
    assert.include(svg.replaceAll(/\s*\n\s*/g, ""), `>${shape}</svg>`, name)
  }
  assert.match(readFileSync("node_modules/lucide-static/LICENSE", "utf8"), /^ISC License/)
})
