import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { DCLinter } from "dclint"
import { validate } from "dockerfile-utils"
import { whyLost } from "../../src/database/DataVolume.ts"
import { catalogProcess } from "../support/CommandLine.ts"

/** The order of keys follows what they are about; a name for what is built is needed for a second service. */
const off = [
  "no-build-and-image",
  "require-quotes-in-ports",
  "service-keys-order",
  "services-alphabetical-order",
  "top-level-properties-order"
]

/** The linter has no types of its own. */
interface Message {
  readonly rule: string
  readonly line: number
}

const composeProblems = (path: string) =>
  new DCLinter({ rules: Object.fromEntries(off.map((rule) => [rule, 0])), quiet: false, debug: false, exclude: [] })
    .lintFiles([path], false)
    .flatMap((file: { readonly messages: ReadonlyArray<Message> }) => file.messages)
    .map(({ line, rule }: Message) => `${rule} ${line}`)

const composeFiles = ["ops/compose.yaml", "ops/compose.citus.yaml"]
const unit = "ops/catalog.service"
const systemd = spawnSync("systemd-analyze", ["--version"]).status === 0
if (!systemd) console.warn("No systemd-analyze: the unit is not verified.")

describe("files for operators", () => {
  it("the Dockerfile has no problem, and the linter finds a planted one", () => {
    const dockerfile = readFileSync("Dockerfile", "utf8")
    assert.deepStrictEqual(validate(dockerfile), [])
    assert.lengthOf(validate(dockerfile.replace("WORKDIR /app", "WORKDIR")), 1)
  })

  it("the compose files have no problem, and the linter finds a planted one", () => {
    for (const path of composeFiles) assert.deepStrictEqual(composeProblems(path), [], path)
    const folder = mkdtempSync(join(tmpdir(), "catalog-compose-"))
    try {
      const path = join(folder, "compose.yaml")
      writeFileSync(path, readFileSync("ops/compose.yaml", "utf8").replace("read_only: true", "read_onyl: true"))
      assert.deepStrictEqual(composeProblems(path), ["invalid-schema 1"])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.skipIf(!systemd)("the unit has no problem", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })
    assert.deepStrictEqual([status, stderr], [0, ""])
  })

  it("the unit and the image start the service in the same way", () => {
    const [, command = ""] = /^CMD (.*)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? []
    const start = (JSON.parse(command) as ReadonlyArray<string>).join(" ").replace("dist", "/opt/catalog/dist")
    assert.include(readFileSync(unit, "utf8"), `ExecStart=/usr/bin/${start}\n`)
  })
})

describe("the check of a release", () => {
  it("passes but for the digest, which nobody may invent, and writes its lists", () => {
    const parts = ["digest", "licences", "scripts", "telemetry", "engines"]
    const { status, stdout } = spawnSync(process.execPath, ["ops/release-check.mjs", ...parts], { encoding: "utf8" })
    const failed = stdout.split("\n").filter((line) => line.startsWith("FAILED"))
    const hasDigest = /^ARG NODE_DIGEST=sha256:/m.test(readFileSync("Dockerfile", "utf8"))
    assert.deepStrictEqual([status, failed], hasDigest ? [0, []] : [1, ["FAILED: digest"]])
    const { bomFormat, components } = JSON.parse(readFileSync("release/sbom.cdx.json", "utf8"))
    assert.strictEqual(bomFormat, "CycloneDX")
    const names = (components as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
    assert.includeMembers(names, ["effect", "pg", "undici"])
    assert.notInclude(names, "vitest")
  })
})

describe("an embedded database in a container", () => {
  it("is lost without a volume", () => {
    assert.strictEqual(whyLost("/usr/absent/data"), "is not on a volume")
    assert.strictEqual(whyLost("/dev/shm/data"), "is in memory")
    // As if /dev/shm were the root of the container.
    assert.isUndefined(whyLost("/usr/data", "/dev/shm"))
  })

  it("is refused there, by every command, before anything is created", async () => {
    const env = { DATA_DIR: "/dev/shm/catalog-refused", DATA_VOLUME: "required", PORT: "0" }
    const message =
      "DATA_DIR: /dev/shm/catalog-refused is in memory, so the embedded database would be lost with the container: mount a volume there, or set DATABASE_URL to a PostgreSQL server."
    const serve = await catalogProcess(["serve"], env)
    assert.deepStrictEqual(serve, { code: 1, stdout: "", stderr: `${message}\n` })
    const list = await catalogProcess(["account", "list", "--json"], env)
    assert.deepStrictEqual(JSON.parse(list.stdout), { error: { code: "unavailable", message } })
  })
})
