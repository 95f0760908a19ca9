import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { bashArguments, environment, prepareDataDirectory, serveCatalog } from "../support/CommandLine.ts"

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const page = (path: string) => readFileSync(at(path), "utf8")
const [readme, walk] = [page("README.md"), page("docs/walk.md")]

interface Block {
  readonly language: string
  readonly text: string
}

const blocksOf = (section: string): ReadonlyArray<Block> =>
  [...section.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map(([, language = "", text = ""]) => ({ language, text }))

const section = (text: string, title: string) => {
  const start = text.indexOf(`\n## ${title}\n`)
  assert.notStrictEqual(start, -1, `there is a section "${title}"`)
  const end = text.indexOf("\n## ", start + 1)
  return text.slice(start, end === -1 ? undefined : end)
}

const typescriptIn = (title: string) =>
  blocksOf(section(page("docs/testing.md"), title)).filter(({ language }) => language === "ts")

/** Reduces an answer to its keys and kinds of values, without ids, times, texts and numbers. */
const shapeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shapeOf(member)]))
  return value === null ? null : typeof value
}

describe("the README", () => {
  it("names the two commands that the package has", () => {
    const { scripts } = JSON.parse(page("package.json")) as { scripts: Record<string, string> }
    assert.deepStrictEqual(
      blocksOf(section(readme, "Start"))
        .filter(({ language }) => language === "sh")
        .map(({ text }) => text),
      ["npm ci && npm start\n", "npm ci && npm test\n"]
    )
    assert.containsAllKeys(scripts, ["start", "test"])
  })

  it("shows the same test layer as the suite runs, in under 20 lines", () => {
    const [block] = typescriptIn("Compose a test layer")
    assert.strictEqual(block?.text, page("test/readme/Snippet.test.ts"))
    assert.isBelow(block?.text.trimEnd().split("\n").length ?? 99, 20)
    assert.strictEqual(typescriptIn("Publish, move the clock, import")[0]?.text, page("test/readme/Fakes.test.ts"))
  })

  it("installs the versions that the package has", () => {
    const { dependencies, devDependencies } = JSON.parse(page("package.json"))
    const text = section(page("docs/testing.md"), "Compose a test layer")
    const named = [...text.matchAll(/ ((?:@\w+\/)?\w+)@([\d.]+)/g)].map(([, name = "", version]) => [name, version])
    assert.isAbove(named.length, 3)
    for (const [name = "", version] of named)
      assert.strictEqual({ ...devDependencies, ...dependencies }[name], version, name)
  })

  it("lists every setting that the code reads, with its default", () => {
    const read = [...page("src/AppConfig.ts").matchAll(/\(\s*"([A-Z][A-Z_]+)"/g)].map(([, name]) => name)
    const listed = [...section(page("docs/settings.md"), "Settings").matchAll(/^\| `([A-Z_]+)`/gm)].map(
      ([, name]) => name
    )
    assert.deepStrictEqual([...listed].sort(), [...new Set(read)].sort())
  })

  describe("walk", () => {
    const folder = mkdtempSync(join(tmpdir(), "catalog-"))
    const DATA_DIR = join(folder, "data")
    let service: Awaited<ReturnType<typeof serveCatalog>>

    beforeAll(async () => {
      prepareDataDirectory(DATA_DIR)
      service = await serveCatalog({ DATA_DIR })
    })
    afterAll(async () => {
      await service.stop()
      rmSync(folder, { recursive: true, force: true })
    })

    /**
     * The command that `npm run -s catalog --` runs, without npm's start time; and earlier times of the drop: it begins after 20
     * seconds in place of 30, and ends after 50 in place of 60. A slow machine needs seconds to plan it.
     */
    const prelude = `npm() { shift 4; "${process.execPath}" dist/main.js "$@"; }
date() { local words=("\${@/+30 /+20 }"); command date "\${words[@]/+60 /+50 }"; }\n`

    /** Runs pairs of commands and expected output. Later steps see the shell variables of earlier ones. */
    const follow = async (steps: ReadonlyArray<Block>) => {
      const variables = join(mkdtempSync(join(folder, "walk-")), "variables")
      writeFileSync(variables, "")
      for (let index = 0; index < steps.length; index += 2) {
        const [command, printed] = [steps[index], steps[index + 1]]
        assert(command !== undefined && printed !== undefined)
        assert.strictEqual(command.language, "sh")
        const assigned = [...command.text.matchAll(/^([A-Z]+)=/gm)].map(
          ([, name]) => `declare -p ${name} >> ${variables}`
        )
        const text = [prelude, `source ${variables}`, command.text, ...assigned].join("\n")
        const { stdout } = await promisify(execFile)("bash", bashArguments(text), {
          cwd: at(""),
          env: environment({ DATA_DIR, BASE: service.baseUrl, KEY: service.key ?? "" })
        })
        if (printed.language === "json")
          assert.deepStrictEqual(shapeOf(JSON.parse(stdout)), shapeOf(JSON.parse(printed.text)), command.text)
        // Ids of the demo are derived from its account's id.
        else assert.strictEqual(anonymous(stdout), anonymous(printed.text), command.text)
      }
    }

    it("runs as printed, and its output has the form that the README shows", async () => {
      const [given, ...steps] = blocksOf(section(readme, "A ten-minute walk"))
      assert.match(given?.text ?? "", /^BASE=.*\nKEY=/)
      assert.lengthOf(steps, 14)
      await follow(steps)
    })

    /** The steps of a section of docs/walk.md, which uses STORE and ID of the README's walk. */
    const continued = (title: string): ReadonlyArray<Block> => {
      const [first, ...rest] = blocksOf(section(walk, title))
      assert(first !== undefined)
      return [{ ...first, text: `${chosen}${first.text}` }, ...rest]
    }

    it("continues: publishes, refreshes and schedules on the demo", async () => {
      const steps = continued("Change, publish, refresh")
      assert.lengthOf(steps, 6)
      await follow(steps)
    })

    it("scans, fills, reconciles and scans again", async () => {
      const steps = continued("Find what is wrong, and repair it")
      assert.lengthOf(steps, 6)
      await follow(steps)
    })

    it("imports two exports into two stores, reads them and imports one again", async () => {
      const steps = blocksOf(section(walk, "Your own export"))
      assert.lengthOf(steps, 8)
      await follow(steps)
    })
  })
})

/** How the README's walk finds its store and its product. */
const chosen = readme.match(/^STORE=.*\nID=.*\n/m)?.[0] ?? ""

const anonymous = (text: string) =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/-[0-9a-f]{8}\.demo\.example/g, "-ACCOUNT.demo.example")
    .trim()
