import { execFileSync } from "node:child_process"
import { appendFileSync, existsSync, mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Runtime, Stream } from "effect"
import fc from "fast-check"
import { readShopifyCsv, type ShopifyCsvPart } from "../../../src/imports/csv/ShopifyCsv.ts"
import { weightIn } from "../../../src/imports/csv/ShopifyCsvCells.ts"
import { inspectShopifyCsv } from "../../../src/imports/csv/ShopifyCsvInspection.ts"
import type { ImportedProduct } from "../../../src/imports/ImportedProduct.ts"
import { amount } from "../../support/Volume.ts"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "catalog-csv-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const written = (content: string | Uint8Array) =>
  Effect.map(directory, (path) => {
    const file = join(path, "export.csv")
    writeFileSync(file, content)
    return file
  })

const partsOf = (path: string) => Effect.map(Stream.runCollect(readShopifyCsv(path)), (parts) => [...parts])
const versionIn = (parts: ReadonlyArray<ShopifyCsvPart>) => {
  const last = parts.at(-1)
  return last?._tag === "Summary" ? last.version : assert.fail("no summary")
}
const productsIn = (parts: ReadonlyArray<ShopifyCsvPart>): ReadonlyArray<ImportedProduct> =>
  parts.flatMap((part) => (part._tag === "Product" ? [part.product] : []))

const read = (content: string | Uint8Array) =>
  Effect.scoped(Effect.map(Effect.flatMap(written(content), partsOf), productsIn))
const inspected = (path: string) => inspectShopifyCsv(path, () => Effect.void)
const inspect = (content: string | Uint8Array) => Effect.scoped(Effect.flatMap(written(content), inspected))

const lines = (...records: ReadonlyArray<string>) => `${records.join("\n")}\n`

const refusalOf = (path: string) =>
  Effect.map(Effect.flip(inspected(path)), ({ message, problems: [{ column, line }] }) => ({ line, column, message }))

describe("Shopify export", () => {
  const everything =
    "Handle,Title,Body (HTML),Vendor,Type,Tags,Published,Status,SEO Title,SEO Description,Option1 Name,Option1 Value," +
    "Option1 Linked To,Option2 Name,Option2 Value,Variant SKU,Variant Barcode,Variant Price,Price / Brazil," +
    "Variant Compare At Price,Variant Grams,Variant Weight Unit,Variant Taxable,Variant Requires Shipping," +
    "Variant Image,Image Src,Image Position,Image Alt Text,Cost per item," +
    "Color (product.metafields.shopify.color-pattern),Care (variant.metafields.care.washing)"

  it.effect("becomes products with variants, options, images and metafields", () =>
    Effect.gen(function* () {
      const parts = yield* Effect.scoped(
        Effect.flatMap(
          written(
            lines(
              everything,
              'tern,Tern Tote,"<p>One,\n""two""</p>",House,Bags,"new, bags,, new",TRUE,Draft,Tern,"A bag.\r\nTwo lines.",Color,Moss,x,' +
                "Size,S,T-1,400,39.00,99,45.5,454,lb,TRUE,False,https://a.example/m.jpg,https://a.example/2.jpg,2,Side,3,black; moss,Cold",
              "tern,,,,,,,,,,,Rust,,,S,T-2,,39,,,,,,,,https://a.example/1.jpg,1,,,,",
              "tern,,,,,,,,,,,,,,,,,,77,,,,,,,,,,,,",
              "tern,,,,,,,,,,,,,,,,,,,,,,,,,https://a.example/3.jpg,,Back,,,",
              "mug,Mug,,,,,,active,,,Title,Default Title,,,,,,12,,,0.0,kg,true,true,,,,,,,"
            )
          ),
          partsOf
        )
      )
      const [tern, mug] = productsIn(parts)
      assert.deepStrictEqual(tern, {
        line: 2,
        handle: "tern",
        values: {
          handle: "tern",
          title: "Tern Tote",
          description_html: '<p>One,\n"two"</p>',
          vendor: "House",
          product_type: "Bags",
          tags: '["new","bags"]',
          status: "draft",
          seo_title: "Tern",
          seo_description: "A bag.\r\nTwo lines.",
          options: '[{"name":"Color","values":["Moss","Rust"]},{"name":"Size","values":["S"]}]',
          "shopify.color-pattern": "black; moss"
        },
        variants: [
          {
            line: 2,
            values: {
              title: "Moss / S",
              sku: "T-1",
              barcode: "400",
              price: "39.00",
              compare_at_price: "45.5",
              weight: "1",
              weight_unit: "lb",
              option1: "Moss",
              option2: "S",
              taxable: "true",
              requires_shipping: "false",
              "care.washing": "Cold"
            },
            imageUrl: "https://a.example/m.jpg"
          },
          {
            line: 5,
            values: {
              title: "Rust / S",
              sku: "T-2",
              barcode: "",
              price: "39",
              compare_at_price: "",
              weight: "",
              weight_unit: "g",
              option1: "Rust",
              option2: "S",
              taxable: "",
              requires_shipping: "",
              "care.washing": ""
            },
            imageUrl: ""
          }
        ],
        images: [
          { line: 5, url: "https://a.example/1.jpg", position: 1, alt: "" },
          { line: 2, url: "https://a.example/2.jpg", position: 2, alt: "Side" },
          { line: 7, url: "https://a.example/3.jpg", position: 3, alt: "Back" }
        ]
      })
      assert.strictEqual(mug?.line, 8)
      assert.deepInclude(mug?.values, {
        options: '[{"name":"Title","values":["Default Title"]}]',
        "shopify.color-pattern": ""
      })
      assert.deepInclude(mug?.variants[0]?.values, { title: "Default Title", option1: "Default Title", option2: "" })
      assert.deepInclude(mug?.variants[0]?.values, { weight: "0", weight_unit: "kg" })
      const version = versionIn(parts)
      assert.deepStrictEqual(parts.at(-1), {
        _tag: "Summary",
        products: 2,
        variants: 3,
        images: 3,
        skippedLines: 1,
        unpublished: 0,
        hasTitle: true,
        productMetafields: [{ key: "shopify.color-pattern", name: "Color", index: 29 }],
        variantMetafields: [{ key: "care.washing", name: "Care", index: 30 }],
        columnNames: everything.split(","),
        ignoredColumns: [
          { name: "Option1 Linked To", filledCells: 1 },
          { name: "Price / Brazil", filledCells: 2 },
          { name: "Cost per item", filledCells: 1 }
        ],
        version,
        rows: 5
      })
      assert.isAbove(version.size, 900)
    })
  )

  it.effect("has no values for missing columns", () =>
    Effect.gen(function* () {
      const [product] = yield* read(lines("Variant Price,Handle,Image Src", "5,mug,https://a.example/1.jpg"))
      assert.deepStrictEqual(product, {
        line: 2,
        handle: "mug",
        values: { handle: "mug" },
        variants: [{ line: 2, values: { price: "5" }, imageUrl: null }],
        images: [{ line: 2, url: "https://a.example/1.jpg", position: 1, alt: null }]
      })
      assert.isFalse((yield* inspect(lines("Handle,Vendor", "mug,House"))).hasTitle)
    })
  )

  it.effect("lists SKUs that several of its products share", () =>
    Effect.gen(function* () {
      const { sharedSkus } = yield* inspect(
        lines(
          "Handle,Option1 Name,Option1 Value,Variant SKU",
          "a,Size,S,A",
          "a,,M,A",
          "b,Size,S,B",
          "c,Size,S,B",
          "d,Size,S,"
        )
      )
      assert.deepStrictEqual([...sharedSkus], ["B"])
    })
  )

  it.effect("takes the status from Published if it has no Status, and ignores a unit without grams", () =>
    Effect.gen(function* () {
      const products = yield* read(
        lines("Handle,Published,Variant Price,Variant Weight Unit", "a,true,1,kg", "b,FALSE,1,kg", "c, ,1,kg")
      )
      assert.deepStrictEqual(
        products.map(({ values }) => values.status),
        ["active", "draft", ""]
      )
      assert.deepStrictEqual(products[0]?.variants[0]?.values, { price: "1" })
    })
  )

  it.effect("imports active products that are not published to the online store as drafts, and counts them", () =>
    Effect.gen(function* () {
      const content = lines(
        "Handle,Published,Status",
        ...[
          "a,true,active",
          "b,FALSE,Active",
          "c,false,archived",
          "d,false,unlisted",
          "e,,active",
          "f,false,",
          "g,true,draft"
        ]
      )
      assert.deepStrictEqual(
        (yield* read(content)).map(({ values }) => values.status),
        ["active", "draft", "archived", "unlisted", "active", "", "draft"]
      )
      const { ignoredColumns, unpublished } = yield* inspect(content)
      assert.deepStrictEqual([unpublished, ignoredColumns], [1, []])
    })
  )

  it.effect("reads the names of Shopify's newer template", () =>
    Effect.gen(function* () {
      const [product] = yield* read(
        lines(
          "Title,URL handle,Description,Published on online store,SKU,Barcode,Option1 name,Option1 value,Price," +
            "Compare-at price,Charge tax,Weight value (grams),Weight unit for display,Requires shipping," +
            "Product image URL,Image position,Image alt text,Variant image URL,SEO title,SEO description",
          "Mug,mug,Text,TRUE,M-1,1,Size,L,5,6,TRUE,28,oz,FALSE,https://a.example/1.jpg,1,Alt,https://a.example/v.jpg,T,D"
        )
      )
      assert.deepInclude(product?.values, { handle: "mug", description_html: "Text", status: "active", seo_title: "T" })
      assert.deepInclude(product?.variants[0], { imageUrl: "https://a.example/v.jpg" })
      assert.deepInclude(product?.variants[0]?.values, { sku: "M-1", weight: "1", weight_unit: "oz", taxable: "true" })
      assert.deepInclude(product?.images[0], { position: 1, alt: "Alt" })
    })
  )

  it.effect("keeps an image of several lines once, after images with a position if it has none", () =>
    Effect.gen(function* () {
      const [product] = yield* read(
        lines(
          "Handle,Option1 Name,Option1 Value,Image Src,Image Position",
          "mug,Size,S,https://a.example/none.jpg,",
          "mug,,M,https://a.example/7.jpg,7",
          "mug,,L,https://a.example/7.jpg,7"
        )
      )
      assert.deepStrictEqual(
        product?.images.map(({ line, position }) => [line, position]),
        [
          [3, 7],
          [2, 8]
        ]
      )
    })
  )

  it.effect("may have blank lines, blank records and columns without a name", () =>
    Effect.gen(function* () {
      const content = "\r\n\r\nHandle,Title,,\r\n\r\nmug,Mug,,x\r\n,,,\r\n  \r\ncup,Cup,,\r\n\r\n"
      assert.deepStrictEqual(
        (yield* read(content)).map(({ handle, line }) => [handle, line]),
        [
          ["mug", 5],
          ["cup", 8]
        ]
      )
      assert.deepStrictEqual((yield* inspect(content)).ignoredColumns, [
        { name: "(column 3)", filledCells: 0 },
        { name: "(column 4)", filledCells: 1 }
      ])
    })
  )

  it.effect("reports the reading's progress", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const records = Array.from({ length: 4000 }, (_, index) => `mug-${index},${"Mug ".repeat(20)}`)
        const path = yield* written(lines("Handle,Title", ...records))
        const parts = yield* partsOf(path)
        const read = parts.flatMap((part) => (part._tag === "Product" ? [part.bytesRead] : []))
        assert.lengthOf(read, 4000)
        assert.isAbove(new Set(read).size, 3)
        assert.deepStrictEqual(
          [...read].sort((left, right) => left - right),
          read
        )
        assert.strictEqual(read.at(-1), versionIn(parts).size)
      })
    )
  )

  it.effect("a product says how many rows end with it, and the summary how many there are", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const image = "https://a.example/1.jpg"
        const mug = [`mug,Mug,${image}`, `mug,,${image}`, `mug,,${image}`]
        const records = [...mug, "", "cup,Cup,", `pot,Pot,${image}`, `pot,,${image}`]
        const parts = yield* partsOf(yield* written(lines("Handle,Title,Image Src", ...records)))
        assert.deepStrictEqual(
          parts.map((part) => (part._tag === "Product" ? [part.product.handle, part.rowsRead] : ["all", part.rows])),
          [
            ["mug", 3],
            ["cup", 4],
            ["pot", 6],
            ["all", 6]
          ]
        )
      })
    )
  )

  const product = { title: 'Grün, ロゴ; 12" weit', price: "12.50" }
  const cellsOf = (separator: string) =>
    [
      ["Handle", "Title", "Variant Price"],
      ["mug", `"${product.title.replaceAll('"', '""')}"`, separator === "," ? "12.50" : "12,50"]
    ]
      .map((cells) => cells.join(separator))
      .join("\r\n")
  const swapped = (text: string) => Buffer.from(text, "utf16le").swap16()
  const forms: ReadonlyArray<readonly [what: string, content: string | Uint8Array]> = [
    ["commas", cellsOf(",")],
    ["semicolons", cellsOf(";")],
    ["semicolons and a byte order mark", `\uFEFF${cellsOf(";")}`],
    ["semicolons and quoted names", cellsOf(";").replace("Handle;Title", '"Handle";"Title"')],
    ["tabs", cellsOf("\t")],
    ["tabs in UTF-16, Excel's Unicode text", Buffer.from(`\uFEFF${cellsOf("\t")}`, "utf16le")],
    ["tabs in UTF-16 of the other order", swapped(`\uFEFF${cellsOf("\t")}`)],
    ["commas in UTF-16 without a byte order mark", Buffer.from(cellsOf(","), "utf16le")],
    ["commas in UTF-16 of the other order without a byte order mark", swapped(cellsOf(","))],
    ["bars", cellsOf("|")],
    ["the line by which Excel is told the separator", `sep=;\r\n${cellsOf(";")}`],
    ["the same line in quotes", `"sep=;"\r\n${cellsOf(";")}`],
    ["blank lines first", `\r\n;;\r\n${cellsOf(";")}`]
  ]
  it.effect.each(forms)("reads a file with %s", ([, content]) =>
    Effect.gen(function* () {
      const [mug, ...others] = yield* read(content)
      assert.deepStrictEqual(
        [mug?.handle, mug?.values.title, mug?.variants[0]?.values.price, others],
        ["mug", product.title, product.price, []]
      )
    })
  )

  it.effect("reads UTF-16 of any length, and reports line and column of a problem in it", () =>
    Effect.gen(function* () {
      const records = Array.from({ length: 9000 }, (_, index) => `mug-${index}\tGrün 😀 ${index}\t9,90`)
      const utf16 = (...all: ReadonlyArray<string>) => Buffer.from(`\uFEFF${lines(...all)}`, "utf16le")
      const header = "Handle\tTitle\tVariant Price"
      const products = yield* read(utf16(header, ...records))
      assert.lengthOf(products, 9000)
      assert.strictEqual(products[8999]?.values.title, "Grün 😀 8999")
      const [problem] = (yield* Effect.flip(inspect(utf16(header, ...records, 'pot\t"Pot\t3')))).problems
      assert.deepStrictEqual(problem, {
        line: 9002,
        column: "Title",
        reason: "The quote that opens this cell is never closed."
      })
    })
  )

  it.effect("reads decimal commas if no comma separates cells, unless they may mean thousands", () =>
    Effect.gen(function* () {
      const priced = (price: string) =>
        inspect(lines("Handle;Title;Variant Price;Variant Grams", `mug;Mug;${price};0,5`)).pipe(
          Effect.zipRight(read(lines("Handle;Title;Variant Price;Variant Grams", `mug;Mug;${price};0,5`))),
          Effect.map(([mug]) => [mug?.variants[0]?.values.price, mug?.variants[0]?.values.weight])
        )
      for (const [price, value] of [
        ["12,50", "12.50"],
        ["12,5", "12.5"],
        ["12.50", "12.50"],
        ["12", "12"],
        ["1.234,50", "1234.50"],
        ["1.234.567,5", "1234567.5"],
        ["1234,500", "1234.500"],
        ["0,125", "0.125"]
      ])
        assert.deepStrictEqual(yield* priced(String(price)), [value, "0.5"])
      for (const price of ["1,234", "1.234", "123.456"])
        assert.strictEqual(
          (yield* Effect.flip(priced(price))).message,
          `Line 2, column "Variant Price": "${price}" may mean thousands or decimals: write it with two decimals, like 12,50.`
        )
      assert.strictEqual(
        (yield* Effect.flip(priced("1,234.50"))).message,
        'Line 2, column "Variant Price": "1,234.50" is not a number of 0 or more, written like 12.50.'
      )
    })
  )

  it.effect("reads a slash between spaces in an option name without the spaces", () =>
    Effect.gen(function* () {
      const [product] = yield* read(lines("Handle,Title,Option1 Name,Option1 Value", "mug,Mug, Size / Fit ,S / slim"))
      assert.deepStrictEqual(
        [product?.values.options, product?.variants.map(({ values }) => values.option1)],
        ['[{"name":"Size/Fit","values":["S / slim"]}]', ["S / slim"]]
      )
    })
  )

  it.effect("treats handles in any case as the same product, in lower case as Shopify does", () =>
    Effect.gen(function* () {
      const products = yield* read(
        lines(
          "Handle,Title,Option1 Name,Option1 Value",
          "Blue-MUG,Mug,Size,S",
          "blue-mug,,,M",
          "Ärmel,Ä,Size,S",
          "cup,Cup,Size,S"
        )
      )
      assert.deepStrictEqual(
        products.map(({ handle, values, variants, writtenHandle }) => [
          handle,
          values.handle,
          writtenHandle,
          variants.length
        ]),
        [
          ["blue-mug", "blue-mug", "Blue-MUG", 2],
          ["ärmel", "ärmel", "Ärmel", 1],
          ["cup", "cup", undefined, 1]
        ]
      )
    })
  )

  it.effect("infers the type of each metafield column from all its values", () =>
    Effect.gen(function* () {
      const { metafields } = yield* inspect(
        lines(
          "Handle,Fabric (product.metafields.custom.fabric),(product.metafields.custom.pages),Care (product.metafields.custom.care),Empty (product.metafields.custom.empty),Code (variant.metafields.custom.code),Option1 Name,Option1 Value",
          'a,wool,320,"cold\nwet",,007,Size,S',
          "a,,,,,12,,M",
          "b,,12,,,,Size,S"
        )
      )
      assert.deepStrictEqual(metafields, [
        { ownerType: "product", key: "custom.fabric", name: "Fabric", type: "single_line_text_field", count: 1 },
        { ownerType: "product", key: "custom.pages", name: "", type: "number_integer", count: 2 },
        { ownerType: "product", key: "custom.care", name: "Care", type: "multi_line_text_field", count: 1 },
        { ownerType: "product", key: "custom.empty", name: "Empty", type: "single_line_text_field", count: 0 },
        { ownerType: "variant", key: "custom.code", name: "Code", type: "single_line_text_field", count: 2 }
      ])
    })
  )

  it.effect("gives the same result wherever the bytes are split", () =>
    Effect.gen(function* () {
      const head = '\uFEFFHandle,Title,Body (HTML)\r\nmug,Mug,"'
      const tail = '😀""é""\r\n\r\n𝕏","\r\ncup,Cup,"x'
      for (let shift = 0; shift <= Buffer.byteLength(tail) + 2; shift++) {
        const padding = "a".repeat(65_536 - Buffer.byteLength(head) - shift)
        const products = yield* read(`${head}${padding}${tail.replace(',"\r\n', "\r\n")}"\r\n`)
        assert.deepStrictEqual(
          products.map(({ line, values }) => [line, values.description_html]),
          [
            [2, `${padding}😀"é"\r\n\r\n𝕏`],
            [5, "x"]
          ],
          `cut ${shift} bytes into the tail`
        )
      }
    })
  )
})

describe("weight", () => {
  it("is the shortest number with the same grams", () => {
    const cases: ReadonlyArray<readonly [unit: string, grams: string, weight: string]> = [
      ["lb", "454", "1"],
      ["lb", "453.59237", "1"],
      ["lb", "453.5", "0.9998"],
      ["lb", "227", "0.5"],
      ["oz", "28", "1"],
      ["oz", "28.0", "1"],
      ["oz", "85", "3"],
      ["kg", "740", "0.74"],
      ["kg", "1", "0.001"],
      ["kg", "0.5", "0.0005"],
      ["kg", "1200.00", "1.2"],
      ["kg", "12000", "12"],
      ["g", "740.50", "740.5"],
      ["g", "007", "7"],
      ["kg", "0.0", "0"],
      ["oz", "0", "0"]
    ]
    for (const [unit, grams, weight] of cases)
      assert.strictEqual(weightIn(unit, grams), weight, `${grams} g in ${unit}`)
  })

  it("converts back to the file's grams", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(["g", 1], ["kg", 1000], ["lb", 453.59237], ["oz", 28.349523125] as const),
        fc.nat(2_000_000),
        fc.nat(3),
        ([unit, perUnit], number, decimals) => {
          const grams = String(number / 10 ** decimals)
          const weight = weightIn(String(unit), grams)
          assert.match(weight, /^\d+(\.\d*[1-9])?$/)
          const kept = grams.split(".")[1]?.length ?? 0
          assert.strictEqual((Number(weight) * Number(perUnit)).toFixed(kept), grams)
        }
      )
    )
  })
})

const cell = (part: fc.Arbitrary<string>) =>
  fc
    .array(part, { minLength: 1, maxLength: 6 })
    .map((parts) => parts.join(""))
    .filter((text) => text.trim() !== "" && !text.includes("\0"))
const letters = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => text.replaceAll(/[\r\n]/g, "-")),
  fc.constantFrom('"', '""', ",", ";", "'", "\t", " ", "a", "茶", "ق", "🎁", "\uFEFF")
)
const oneLine = cell(letters)
const manyLines = cell(fc.oneof(letters, fc.constantFrom("\n", "\r\n", "\n\n", "\r")))
const maybe = (text: fc.Arbitrary<string>) => fc.oneof(fc.constant(""), text)
const money = fc.tuple(fc.nat(99_999), fc.nat(99)).map(([euros, cents]) => `${euros}.${String(cents).padStart(2, "0")}`)

const someVariant = fc.record({
  sku: maybe(oneLine),
  barcode: maybe(oneLine),
  price: money,
  compareAt: maybe(money),
  taxable: fc.constantFrom("true", "false", ""),
  image: maybe(fc.webUrl().filter((url) => url.startsWith("http"))),
  care: maybe(manyLines)
})
const someProduct = fc.record({
  title: oneLine,
  body: maybe(manyLines),
  vendor: maybe(oneLine),
  tags: fc.uniqueArray(fc.constantFrom("new", "bags", "sale", "夏", "a b"), { maxLength: 4 }),
  status: fc.constantFrom("active", "draft", "archived"),
  optionName: oneLine.map((name) => name.trim()).filter((name) => name !== "Title"),
  /** Each variant has an option value of its own. */
  variants: fc.array(someVariant, { minLength: 1, maxLength: 4 }),
  alts: fc.array(maybe(manyLines), { maxLength: 4 })
})
const someFile = fc.record({
  products: fc.array(someProduct, { minLength: 1, maxLength: 5 }),
  lineEnd: fc.constantFrom("\n", "\r\n", "\r"),
  mark: fc.constantFrom("", "\uFEFF"),
  quotesAll: fc.boolean(),
  endsLine: fc.boolean()
})
type SomeFile = typeof someFile extends fc.Arbitrary<infer A> ? A : never

const headerCells = [
  ...["Handle", "Title", "Body (HTML)", "Vendor", "Tags", "Status", "Option1 Name", "Option1 Value", "Variant SKU"],
  ...["Variant Barcode", "Variant Price", "Variant Compare At Price", "Variant Taxable", "Variant Image"],
  ...["Care (variant.metafields.care.text)", "Image Src", "Image Alt Text"]
]

/** Writes a file, and returns the products that reading it must give. */
const asCsv = ({ endsLine, lineEnd, mark, products, quotesAll }: SomeFile) => {
  let content = mark
  const lineNow = () => content.split(/\r\n|\n|\r/).length
  const writeRecord = (cells: ReadonlyArray<string>) => {
    content += cells
      .map((text) => (quotesAll || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
      .join(",")
    content += lineEnd
  }
  writeRecord(headerCells)
  const expected = products.map((product, number): ImportedProduct => {
    const handle = `product-${number}`
    const variants: Array<ImportedProduct["variants"][number]> = []
    const images: Array<ImportedProduct["images"][number]> = []
    const first = lineNow()
    const optionValue = (index: number) => `${product.optionName} ${index}`
    for (let index = 0; index < Math.max(product.variants.length, product.alts.length); index++) {
      const line = lineNow()
      const variant = product.variants[index]
      const alt = product.alts[index]
      const url = `https://cdn.example/${handle}/${index}.jpg?v=1`
      if (variant !== undefined)
        variants.push({
          line,
          values: {
            title: optionValue(index),
            sku: variant.sku,
            barcode: variant.barcode,
            price: variant.price,
            compare_at_price: variant.compareAt,
            taxable: variant.taxable,
            option1: optionValue(index),
            "care.text": variant.care
          },
          imageUrl: variant.image
        })
      if (alt !== undefined) images.push({ line, url, position: index + 1, alt })
      writeRecord([
        handle,
        ...(index === 0
          ? [product.title, product.body, product.vendor, product.tags.join(", "), product.status, product.optionName]
          : ["", "", "", "", "", ""]),
        ...(variant === undefined
          ? ["", "", "", "", "", "", "", ""]
          : [optionValue(index), variant.sku, variant.barcode, variant.price, variant.compareAt]),
        ...(variant === undefined ? [] : [variant.taxable.toUpperCase(), variant.image, variant.care]),
        ...(alt === undefined ? ["", ""] : [url, alt])
      ])
    }
    return {
      line: first,
      handle,
      values: {
        handle,
        title: product.title,
        description_html: product.body,
        vendor: product.vendor,
        tags: product.tags.length === 0 ? "" : JSON.stringify(product.tags),
        status: product.status,
        options: JSON.stringify([
          { name: product.optionName, values: product.variants.map((_, index) => optionValue(index)) }
        ])
      },
      variants,
      images
    }
  })
  return { content: endsLine ? content : content.slice(0, -lineEnd.length), expected }
}

describe("any export", () => {
  it.effect("is read as it was written", () =>
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime<never>()
      let variants = 0
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(someFile, async (file) => {
            const { content, expected } = asCsv(file)
            const products = await Runtime.runPromise(runtime)(read(content))
            assert.deepStrictEqual(products, expected)
            variants += products.flatMap((product) => product.variants).length
          }),
          { numRuns: amount(200, 5_000) }
        )
      )
      assert.isAbove(variants, 400)
    })
  )
})

describe("a file that is refused", () => {
  const head = "Handle,Title,Option1 Name,Option1 Value,Variant Price,Image Src"
  const long = "x".repeat(1_048_577)
  type Refusal = readonly [
    what: string,
    content: string | Uint8Array,
    line: number | null,
    column: string | null,
    message: string
  ]
  const refusals: ReadonlyArray<Refusal> = [
    ["empty", "", null, null, "The file is empty."],
    ["nothing but blank lines", "\uFEFF\r\n \n\n", null, null, "The file is empty."],
    ["a header alone", `${head}\n\n,,,,,\n`, null, null, "The file has a header but no products."],
    [
      "binary",
      Buffer.from("PK\u0003\u0004\n\u0014\u0000\u0006"),
      2,
      null,
      "The file contains U+0000: it is not a text file."
    ],
    ["U+0000", lines(head, "mug,M\u0000g,,,,"), 2, null, "The file contains U+0000: it is not a text file."],
    [
      "invalid UTF-8",
      Buffer.concat([Buffer.from(lines(head, 'mug,"M\r\nug",,,,', "cup,Cép,,,,")), Buffer.from([0x63, 0xe9, 0x2c])]),
      5,
      null,
      'The file is not valid UTF-8 here (perhaps it is Windows-1252): save it as UTF-8 (Excel: "CSV UTF-8").'
    ],
    [
      "UTF-8 that ends within a character",
      Buffer.concat([Buffer.from(lines(head, "mug,Mug,,,,")), Buffer.from([0x61, 0xf0, 0x9f])]),
      3,
      null,
      'The file is not valid UTF-8 here (perhaps it is Windows-1252): save it as UTF-8 (Excel: "CSV UTF-8").'
    ],
    [
      "a lone surrogate",
      Buffer.concat([Buffer.from("Handle,Title\nmug,"), Buffer.from([0xed, 0xa0, 0x80, 0x0a])]),
      2,
      null,
      'The file is not valid UTF-8 here (perhaps it is Windows-1252): save it as UTF-8 (Excel: "CSV UTF-8").'
    ],
    [
      "UTF-16 with a lone surrogate",
      Buffer.from(`\uFEFF${lines(head, "mug,M\ud800g,,,,")}`, "utf16le"),
      1,
      null,
      "The file is not valid UTF-16 from here on: save it as UTF-8."
    ],
    [
      "UTF-16 that ends within a character",
      Buffer.from(`\uFEFF${lines(head, "mug,Mug,,,,")}`, "utf16le").subarray(0, -1),
      2,
      null,
      "The file is not valid UTF-16 from here on: save it as UTF-8."
    ],
    [
      "no header",
      lines(
        "tern,Tern Tote,House,true,Title,Default Title,true,true",
        "mug,Mug,House,true,Title,Default Title,true,true"
      ),
      1,
      null,
      "The first line is not a header: it has values, not the names of a product export's columns (Handle, Title, ...). Add the header line, or export the products again."
    ],
    [
      "no header, and semicolons",
      lines("tern;Tern Tote;12,50", "mug;Mug;9,00"),
      1,
      null,
      "The first line is not a header: it has values, not the names of a product export's columns (Handle, Title, ...). Add the header line, or export the products again."
    ],
    ...(
      [
        [
          "an inventory",
          '"HS Code" and "COO"',
          "Handle,Title,Option1 Name,Option1 Value,SKU,HS Code,COO,Location,On hand"
        ],
        ["an inventory", '"Location" and "On hand (new)"', "Handle,Title,SKU,Location,On hand (new)"],
        ["a customer", '"First Name" and "Last Name" and "Email"', "Customer ID,First Name,Last Name,Email,Tags"],
        [
          "an order",
          '"Financial Status" and "Fulfillment Status"',
          "Name,Email,Financial Status,Paid at,Fulfillment Status"
        ]
      ] as const
    ).map(
      ([name, columns, header]): Refusal => [
        `${name} export`,
        lines(header, header.replaceAll(/[^,]+/g, "x")),
        1,
        null,
        `This is ${name} export (it has the columns ${columns}), not a product export: in the Shopify admin, open Products, choose Export and import that file.`
      ]
    ),
    [
      "another header",
      lines("id,name", "1,Mug"),
      1,
      null,
      'This is not a header of a Shopify product export: "Handle" and "Title" are missing.'
    ],
    [
      "a header in another case",
      lines("handle,TITLE,Vendor", "mug,Mug,House"),
      1,
      null,
      'This is not a header of a Shopify product export: "Handle" and "Title" are missing; the file has "handle" instead of "Handle"; the file has "TITLE" instead of "Title".'
    ],
    [
      "a header in another case, with columns without a name",
      lines("handle,title,,", "mug,Mug,,"),
      1,
      null,
      'This is not a header of a Shopify product export: "Handle" and "Title" are missing; the file has "handle" instead of "Handle"; the file has "title" instead of "Title".'
    ],
    [
      "a Handle in another case",
      lines("HANDLE,Title", "mug,Mug"),
      1,
      null,
      'This is not a header of a Shopify product export: "Handle" is missing; the file has "HANDLE" instead of "Handle".'
    ],
    [
      "no Handle",
      lines("Title,Vendor", "Mug,House"),
      1,
      null,
      'This is not a header of a Shopify product export: "Handle" is missing.'
    ],
    [
      "nothing but handles",
      lines("Handle,Command", "mug,NEW"),
      1,
      null,
      'This is not a header of a Shopify product export: "Handle" is the only known column.'
    ],
    [
      "a column twice",
      lines("Handle,Cost,Title,Cost", "mug,1,Mug,1"),
      1,
      "Cost",
      'Line 1, column "Cost": This column occurs twice: it is number 2 and number 4.'
    ],
    [
      "a column under two names",
      lines("Handle,Title,Variant SKU,SKU", "mug,Mug,1,1"),
      1,
      "SKU",
      'Line 1, column "SKU": This column means the same as "Variant SKU": keep one.'
    ],
    [
      "a metafield under two names",
      lines("Handle,A (product.metafields.a.b),B (product.metafields.a.b)", "mug,1,1"),
      1,
      "B (product.metafields.a.b)",
      'Line 1, column "B (product.metafields.a.b)": This column means the same as "A (product.metafields.a.b)": keep one.'
    ],
    ["too few cells", lines(head, "mug,Mug,,,,", "cup,Cup"), 3, null, "The record has 2 cells, the header has 6."],
    ["too many cells", lines(head, "mug,Mug,,,,,"), 2, null, "The record has 7 cells, the header has 6."],
    [
      "an open quote",
      lines(head, 'mug,"M\nug",Size,"S,1,', "cup,Cup,,,,"),
      3,
      "Option1 Value",
      "The quote that opens this cell is never closed."
    ],
    [
      "an open quote that another one closes",
      lines(head, 'mug,"Mug,,,,', 'cup,"Cup",,,,'),
      2,
      "Title",
      "This cell has text after its closing quote: quotes inside a cell must be doubled."
    ],
    [
      "an open quote in the header",
      lines('Handle,"Title,Vendor', "mug,Mug,House"),
      1,
      null,
      "The quote that opens this cell is never closed."
    ],
    [
      "a quote inside",
      lines(head, "", "mug,Mug,,,,", 'pot,Pot 12" wide,,,,'),
      4,
      "Title",
      "This cell contains a quote but is not quoted: quote the cell and double the quote inside."
    ],
    ["a line without end", lines(head, "mug,Mug,,,,", `cup,${long},,,,`), 3, null, "The line is longer than 1 MiB."],
    ["a line of 10 MB", Buffer.alloc(10_000_000, ","), 1, null, "The line is longer than 1 MiB."],
    [
      "a record without end",
      lines(head, "mug,Mug,,,,", `cup,"${"abc\n".repeat(300_000)}`),
      3,
      "Title",
      "The record is longer than 1 MiB: a quote may be left open."
    ],
    [
      "a blank handle",
      lines(head, "mug,Mug,,,,", " ,Cup,,,,"),
      3,
      "Handle",
      "Every line must name its product by a handle."
    ],
    ["a long handle", lines(head, `${"m".repeat(256)},Mug,,,,`), 2, "Handle", "A handle has at most 255 characters."],
    [
      "a long SKU",
      lines("Handle,Title,Variant SKU", `mug,Mug,${"m".repeat(255)}`, `cup,Cup,${"c".repeat(256)}`),
      3,
      "Variant SKU",
      "A SKU has at most 255 characters."
    ],
    [
      "a long title",
      lines(head, "cup,Cup,,,,", `mug,${"m".repeat(256)},,,,`),
      3,
      "Title",
      "The value must have at most 255 characters."
    ],
    [
      "a long name of an option",
      lines(head, `mug,Mug,${"S".repeat(256)},S,,`),
      2,
      "Option1 Name",
      "The value must have at most 255 characters."
    ],
    [
      "a tag too long",
      lines("Handle,Title,Tags", `mug,Mug,"new, ${"t".repeat(256)}"`),
      2,
      "Tags",
      "Each item of the list must have at most 255 characters."
    ],
    [
      "a long alt text",
      lines("Handle,Title,Image Src,Image Alt Text", `mug,Mug,https://a.example/a.png,${"a".repeat(513)}`),
      2,
      "Image Alt Text",
      "The value must have at most 512 characters."
    ],
    ["no title", lines(head, "mug,,,,5,"), 2, "Title", "The first line of a product must have its title."],
    [
      "a title of two lines",
      lines(head, '"mug","M\nug",,,,'),
      2,
      "Title",
      "This value must be a single line, but it has a line break."
    ],
    [
      "a product in two places",
      lines(head, "mug,Mug,,,,", "cup,Cup,,,,", "mug,,,,5,"),
      4,
      "Handle",
      'The product "mug" begins on line 2: its lines must follow one another.'
    ],
    [
      "a misfit price",
      lines(head, "mug,Mug,,,1,", 'cup,Cup,Size,S,"2,50\n €",'),
      3,
      "Variant Price",
      '"2,50\\n €" is not a number of 0 or more, written like 12.50.'
    ],
    [
      "a misfit price that is long",
      lines("Handle,Body (HTML),Variant Price", `mug,"<p>\n</p>\r\n",${"9".repeat(60)}`),
      4,
      "Variant Price",
      `"${"9".repeat(40)}"... is not a number of 0 or more, written like 12.50.`
    ],
    ...["-1", "1e3", ".5", "5.", "1,000.00", "NaN", "0x1", "٣"].map(
      (price): Refusal => [
        `the price ${price}`,
        lines(head, `mug,Mug,,,"${price}",`),
        2,
        "Variant Price",
        `"${price}" is not a number of 0 or more, written like 12.50.`
      ]
    ),
    [
      "a misfit price to compare with",
      lines("Handle,Variant Price,Variant Compare At Price", "mug,1,free"),
      2,
      "Variant Compare At Price",
      '"free" is not a number of 0 or more, written like 12.50.'
    ],
    [
      "misfit grams",
      lines("Handle,Variant Price,Variant Grams", "mug,1,-5"),
      2,
      "Variant Grams",
      '"-5" is not a number of 0 or more, written like 12.50.'
    ],
    [
      "an unknown unit",
      lines("Handle,Variant Price,Variant Grams,Variant Weight Unit", "mug,1,5,stone"),
      2,
      "Variant Weight Unit",
      '"stone" is not one of: g, kg, lb, oz.'
    ],
    [
      "neither yes nor no",
      lines("Handle,Variant Price,Variant Taxable", "mug,1,ja"),
      2,
      "Variant Taxable",
      '"ja" is not one of: true, false.'
    ],
    [
      "an unknown status",
      lines("Handle,Status", "mug,live"),
      2,
      "Status",
      '"live" is not one of: active, draft, archived, unlisted.'
    ],
    [
      "an image without an address",
      lines(head, "mug,Mug,,,,mug.jpg"),
      2,
      "Image Src",
      '"mug.jpg" is not an absolute http or https address.'
    ],
    [
      "an image of another kind of address",
      lines(head, "mug,Mug,,,,javascript:alert(1)"),
      2,
      "Image Src",
      '"javascript:alert(1)" is not an absolute http or https address.'
    ],
    [
      "a variant's image without an address",
      lines("Handle,Variant Price,Variant Image", "mug,1,https://"),
      2,
      "Variant Image",
      '"https://" is not an absolute http or https address.'
    ],
    [
      "a misfit position",
      lines("Handle,Image Src,Image Position", "mug,https://a.example/1.jpg,1.5"),
      2,
      "Image Position",
      '"1.5" is not a whole number of 0 or more.'
    ],
    [
      "the same variant twice",
      lines(head, "mug,Mug,Size,S,1,", "mug,,,M,1,", "mug,,,S,2,"),
      4,
      "Option1 Value",
      "The variant on line 2 has the same option values."
    ],
    [
      "variants that nothing tells apart",
      lines("Handle,Variant Price", "mug,1", "mug,2"),
      3,
      null,
      "This variant cannot be distinguished from the one on line 2: variants need option values or different SKUs."
    ],
    [
      "the same SKU twice, and no options",
      lines("Handle,Variant SKU", "mug,M-1", "mug,M-1"),
      3,
      "Variant SKU",
      "This variant cannot be distinguished from the one on line 2: variants need option values or different SKUs."
    ],
    [
      "an option without a name",
      lines(head, "mug,Mug,,S,1,"),
      2,
      "Option1 Value",
      'This option has no name: fill in "Option1 Name" on the product\'s first line.'
    ],
    [
      "a variant without an option's value",
      lines(head, "mug,Mug,Size,S,1,", "mug,,,,2,"),
      3,
      "Option1 Value",
      'The product has the option "Size", but this variant has no value for it.'
    ],
    [
      "2,049 variants",
      lines("Handle,Variant SKU", ...Array.from({ length: 2049 }, (_, index) => `mug,${index}`)),
      2050,
      null,
      "A product has at most 2048 variants."
    ],
    [
      "251 images",
      lines("Handle,Image Src", ...Array.from({ length: 251 }, (_, index) => `mug,https://a.example/${index}`)),
      252,
      null,
      "A product has at most 250 images."
    ],
    [
      "252 images, of which a variant names the last",
      lines(
        "Handle,Variant SKU,Variant Image,Image Src",
        "mug,M-1,https://a.example/251,",
        ...Array.from({ length: 252 }, (_, index) => `mug,,,https://a.example/${index}`)
      ),
      253,
      null,
      "A product has at most 250 images."
    ],
    [
      "250 images and another one of a variant",
      lines(
        "Handle,Variant SKU,Variant Image,Image Src",
        "mug,M-1,https://a.example/own,",
        ...Array.from({ length: 250 }, (_, index) => `mug,,,https://a.example/${index}`)
      ),
      2,
      null,
      "A product has at most 250 images."
    ]
  ]

  it.effect.each(refusals)("%s", ([, content, line, column, message]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const place = line === null ? "" : column === null ? `Line ${line}: ` : `Line ${line}, column "${column}": `
        assert.deepStrictEqual(yield* refusalOf(yield* written(content)), {
          line,
          column,
          message: message.startsWith("Line ") ? message : `${place}${message}`
        })
      })
    )
  )

  it.effect("is refused with all its problems, by line and column, also those before a broken record", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* written(
          lines(head, "mug,Mug,,,free,ftp://x", "pot", "pot,,Size,S,1,", ",Cup,,,,", "jug,,,,,", 'cup,"Cup,,,,', "pot")
        )
        const { count, message, problems } = yield* Effect.flip(inspected(path))
        assert.deepStrictEqual(
          problems.map(({ column, line, reason }) => [line, column, reason]),
          [
            [2, "Variant Price", '"free" is not a number of 0 or more, written like 12.50.'],
            [2, "Image Src", '"ftp://x" is not an absolute http or https address.'],
            [3, null, "The record has 1 cells, the header has 6."],
            [5, "Handle", "Every line must name its product by a handle."],
            [6, "Title", "The first line of a product must have its title."],
            [7, "Title", "The quote that opens this cell is never closed."]
          ]
        )
        assert.strictEqual(count, 6)
        assert.strictEqual(
          message,
          'The file has 6 problems. The first: Line 2, column "Variant Price": "free" is not a number of 0 or more, written like 12.50.'
        )
      })
    )
  )

  it.effect("is refused with its first 100 problems and their total", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const records = Array.from({ length: 5000 }, (_, index) => `mug-${index},Mug,,,free,`)
        const { count, problems } = yield* Effect.flip(inspected(yield* written(lines(head, ...records))))
        assert.strictEqual(count, 5000)
        assert.deepStrictEqual(
          problems.map(({ line }) => line),
          Array.from({ length: 100 }, (_, index) => index + 2)
        )
      })
    )
  )

  it.effect("is missing, a directory, a pipe or unreadable", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* directory
        const about = (message: string) => ({ line: null, column: null, message })
        const absent = join(path, "absent.csv")
        assert.deepStrictEqual(yield* refusalOf(absent), about(`There is no such file: ${absent}`))
        assert.deepStrictEqual(yield* refusalOf(path), about("This is a directory, not a file."))
        execFileSync("mkfifo", [join(path, "pipe")])
        assert.deepStrictEqual(yield* refusalOf(join(path, "pipe")), about("This is not a regular file."))
        assert.deepStrictEqual(
          yield* refusalOf(join(path, "a\0b")),
          about("The file cannot be read (ERR_INVALID_ARG_VALUE).")
        )
        if (process.getuid?.() === 0) return
        writeFileSync(join(path, "mine.csv"), head, { mode: 0o000 })
        assert.deepStrictEqual(
          yield* refusalOf(join(path, "mine.csv")),
          about("The service has no permission to read the file.")
        )
      })
    )
  )

  const changes: ReadonlyArray<readonly [what: string, change: (path: string) => void]> = [
    ["shrinks", (path) => truncateSync(path, 150_000)],
    ["shrinks to what was read", (path) => truncateSync(path, 65_536)],
    ["grows", (path) => appendFileSync(path, "cup,Cup\n")],
    ["is overwritten", (path) => writeFileSync(path, Buffer.alloc(250_000))],
    ["is touched", (path) => utimesSync(path, 1, 1)]
  ]
  it.effect.each(changes)("%s while it is read", ([, change]) =>
    Effect.scoped(
      Effect.gen(function* () {
        const path = yield* written(
          lines("Handle,Title", ...Array.from({ length: 5000 }, (_, index) => `mug-${index},"${"Mug ".repeat(10)}"`))
        )
        let products = 0
        const refused = yield* readShopifyCsv(path).pipe(
          Stream.runForEach(() =>
            Effect.sync(() => {
              if (products++ === 0) change(path)
            })
          ),
          Effect.flip
        )
        assert.strictEqual(refused.message, "The file was changed or replaced while it was read: import it again.")
        assert.strictEqual(refused._tag, "ImportFileRejected")
        assert.isAbove(products, 100)
      })
    )
  )
})

const realExports = fileURLToPath(new URL("../../../../shared/data/shopify-csv/", import.meta.url))

describe.skipIf(!existsSync(realExports))("real exports (read from ../shared/data/shopify-csv)", () => {
  const counts = {
    "apparel-eu.csv": [18, 20, 18],
    "apparel.csv": [20, 22, 20],
    "home-and-garden.csv": [20, 21, 21],
    "jewelery.csv": [20, 23, 41],
    "liquid-course.csv": [20, 21, 21]
  }

  it.effect("have the expected counts", () =>
    Effect.gen(function* () {
      for (const [name, counted] of Object.entries(counts)) {
        const { hasTitle, images, products, skippedLines, variants } = yield* inspected(`${realExports}${name}`)
        assert.deepStrictEqual([products, variants, images], counted, name)
        assert.deepStrictEqual([skippedLines, hasTitle], [0, true], name)
      }
    })
  )

  it.effect("have the expected values", () =>
    Effect.gen(function* () {
      const jewelery = productsIn(yield* partsOf(`${realExports}jewelery.csv`))
      const product = (handle: string) => jewelery.find((found) => found.handle === handle)
      assert.deepStrictEqual(
        product("leather-anchor")?.images.map(({ line, position }) => [line, position]),
        [
          [4, 1],
          [5, 2],
          [6, 3]
        ]
      )
      assert.deepInclude(product("boho-earrings")?.variants[0]?.values, { weight: "1", weight_unit: "oz" })
      assert.include(product("choker-with-gold-pendant")?.values.description_html, '<li>Length, 12" with 2.5" extender')
      // Multi-line descriptions come before it in the file.
      assert.strictEqual(product("choker-with-triangle")?.line, 23)
      assert.strictEqual(product("gemstone")?.values.options, '[{"name":"Colour","values":["Blue","Purple"]}]')
      const [lamp] = productsIn(yield* partsOf(`${realExports}liquid-course.csv`))
      assert.deepInclude(lamp?.values, { status: "active", tags: '["Black","Lamp"]', product_type: "Indoor" })
      assert.deepInclude(lamp?.variants[0]?.values, { price: "69.99", compare_at_price: "85.00", weight: "0" })
    })
  )
})
