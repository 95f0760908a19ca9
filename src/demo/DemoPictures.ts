import { hash } from "node:crypto"
import { families } from "./DemoContent.ts"

/** A shape of each type of product, on a ground of 100 by 100. */
const shapes: Readonly<Record<string, string>> = {
  pack: "M34 34a16 16 0 0 1 32 0v4h4a4 4 0 0 1 4 4v32a6 6 0 0 1-6 6H32a6 6 0 0 1-6-6V42a4 4 0 0 1 4-4h4zm6 4h20v-4a10 10 0 0 0-20 0zm-6 18v14h32V56z",
  tent: "M50 24 84 78H60L50 56 40 78H16z",
  sleep: "M22 40a12 12 0 0 1 12-12h32a12 12 0 0 1 12 12v34a4 4 0 0 1-4 4H26a4 4 0 0 1-4-4zm12-4v10h32V36z",
  jacket: "M40 24h20l16 10 6 26-9 3-5-14v29H32V49l-5 14-9-3 6-26z",
  cap: "M24 58a26 26 0 0 1 52 0v6H24zm-4 10h60v8H20zM46 26h8v8h-8z",
  pot: "M24 44h52v4h8v8h-8v14a8 8 0 0 1-8 8H32a8 8 0 0 1-8-8zm6-8h40v5H30zm16-8h8v6h-8z",
  bottle: "M43 20h14v10l5 8v36a6 6 0 0 1-6 6H44a6 6 0 0 1-6-6V38l5-8zm-5 30h24v14H38z",
  lamp: "M44 20h12v6h6l4 10v34l-4 10H38l-4-10V36l4-10h6zm-2 20v28h16V40z",
  tool: "M30 72 58 44a12 12 0 0 1 14-18l-8 8 2 6 6 2 8-8a12 12 0 0 1-18 14L38 78a6 6 0 0 1-8-6z",
  plate: "M18 50a32 14 0 0 0 64 0 32 14 0 0 0-64 0zm10-2a22 8 0 0 1 44 0 22 8 0 0 1-44 0zM34 68h32v6H34z",
  cloth: "M26 26h48v40l-6 8-6-6-6 6-6-6-6 6-6-6-6 6-6-8zm8 8v6h32v-6zm0 12v6h32v-6z",
  candle: "M50 18c7 8 8 14 0 18-8-4-7-10 0-18zM36 42h28v36H36z",
  paper: "M30 20h32l10 10v50H30zm8 20v4h26v-4zm0 12v4h26v-4zm0 12v4h18v-4z",
  teapot:
    "M32 46h34c4-6 10-8 16-6l-6 8c0 16-8 26-22 26S32 62 32 46zm-14 2c6-2 10 0 12 4v12c-8-2-12-8-12-16zm24-12h14v6H42z"
}

const shapeOfType: Readonly<Record<string, string>> = {
  Backpacks: "pack",
  Shelters: "tent",
  Sleep: "sleep",
  Rainwear: "jacket",
  Knitwear: "jacket",
  Accessories: "cap",
  "Trail Kitchen": "pot",
  "Bottles & Flasks": "bottle",
  Lighting: "lamp",
  "Tools & Repair": "tool",
  Tableware: "plate",
  "Home Textiles": "cloth",
  "Candles & Scent": "candle",
  "Paper Goods": "paper",
  "مستلزمات المجلس": "teapot",
  茶具: "teapot",
  "Autumn Arrivals": "jacket"
}

/** Colours of background and shape: moss, slate, rust, dusk, sand, tarn, heather, pine. */
const colours = [
  ["#dfe5d6", "#5f7550"],
  ["#dbe2e8", "#4a6379"],
  ["#f0ded3", "#a5532b"],
  ["#e3dcea", "#655080"],
  ["#efe6d2", "#937034"],
  ["#d5e6e6", "#2f7274"],
  ["#f0dde2", "#99526a"],
  ["#d9e6dc", "#356b4b"]
] as const

const types = new Map(families.flatMap(({ products: named, type }) => Object.keys(named).map((name) => [name, type])))

/** The name of the product that a file shows: the longest product name that is a prefix of the file name. */
const productOf = (file: string) =>
  [...types.keys()].filter((name) => file.startsWith(name)).sort((one, other) => other.length - one.length)[0]

const demoHost = "cdn.demo.example"

/** Draws a picture of the demo's shops as SVG. Undefined: the address is not one of them. The same address has the same picture. */
export const drawDemoPicture = ({ hostname, pathname }: URL): string | undefined => {
  const file = pathname.split("/").at(-1) ?? ""
  if (hostname !== demoHost || file === "") return undefined
  const product = productOf(file)
  const type = product === undefined ? undefined : types.get(product)
  const shape = shapes[shapeOfType[type ?? ""] ?? "scene"]
  const digits = hash("sha256", product ?? file, "buffer")
  const [ground, ink] = colours[(digits[0] ?? 0) % colours.length] ?? colours[0]
  // The light comes from another side in each picture of a product.
  const light = 30 + ((hash("sha256", file, "buffer")[0] ?? 0) % 40)
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100" width="400" height="400">',
    `<defs><radialGradient id="l" cx="${light}%" cy="25%" r="90%"><stop offset="0" stop-color="#fff"/>`,
    `<stop offset="1" stop-color="${ground}"/></radialGradient></defs>`,
    '<rect width="100" height="100" fill="url(#l)"/><ellipse cx="50" cy="84" rx="30" ry="4" fill="#000" opacity=".12"/>',
    `<path d="${shape}" fill="${ink}" fill-rule="evenodd"/></svg>`
  ].join("")
}
