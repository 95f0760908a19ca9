import { assert, it } from "vitest"
import { drawPicture, shownPicture } from "./Picture.ts"

it("docs/architecture.md shows the folders and imports of src; `npm run docs:picture` updates it", async () => {
  assert.strictEqual(shownPicture(), await drawPicture())
})
