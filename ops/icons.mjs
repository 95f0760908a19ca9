// Writes src/console/Icons.json: the shapes of the icons of the pages, from lucide-static (ISC licence).
import { readFileSync, writeFileSync } from "node:fs"

const names = [
  ..."house package layers image image-off import heart-pulse calendar-clock store bot key-round book-open".split(" "),
  ..."list-checks search menu sun moon monitor log-out circle-question-mark lock x chevron-right chevron-left".split(
    " "
  ),
  ..."arrow-left arrow-right grip-vertical undo-2 chevron-down check triangle-alert refresh-cw send plus bookmark command git-merge circle-check users circle-user".split(
    " "
  ),
  ..."bold italic heading list list-ordered link redo-2".split(" ")
]

export const shapeOf = (name) => {
  const svg = readFileSync(`node_modules/lucide-static/icons/${name}.svg`, "utf8")
  return /<svg[^>]*>([\s\S]*)<\/svg>/.exec(svg)[1].replaceAll(/\s*\n\s*/g, "")
}

if (process.argv[1]?.endsWith("icons.mjs"))
  writeFileSync(
    "src/console/Icons.json",
    `${JSON.stringify(Object.fromEntries(names.sort().map((name) => [name, shapeOf(name)])), null, 2)}\n`
  )
