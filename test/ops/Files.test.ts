import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { whyLost } from "../../src/database/DataVolume.ts"
import { catalogProcess } from "../support/CommandLine.ts"

const unit = "ops/catalog.service"
const systemd = spawnSync("systemd-analyze", ["--version"]).status === 0
if (!systemd) console.warn("No systemd-analyze: the unit is not verified.")

describe("files for operators", () => {
  it.skipIf(!systemd)("the systemd unit has no problem", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" })
    assert.deepStrictEqual([status, stderr], [0, ""])
  })

  it("the unit and the image start the service in the same way", () => {
    const [, command = ""] = /^CMD (.*)$/m.exec(readFileSync("Dockerfile", "utf8")) ?? []
    const start = (JSON.parse(command) as ReadonlyArray<string>).join(" ").replace("dist", "/opt/catalog/dist")
    assert.include(readFileSync(unit, "utf8"), `ExecStart=/usr/bin/${start}\n`)
  })
})

/** Runs parts of the check in a folder with copies of the files that it reads. */
const check = (parts: ReadonlyArray<string>, planted: Readonly<Record<string, (text: string) => string>> = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "catalog-release-"))
  try {
    for (const path of ["Dockerfile", "package.json", "package-lock.json", "ops"])
      cpSync(path, join(folder, path), { recursive: true })
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"))
    for (const [path, plant] of Object.entries(planted))
      writeFileSync(join(folder, path), plant(readFileSync(path, "utf8")))
    const { status, stdout } = spawnSync(process.execPath, ["ops/release-check.mjs", ...parts], {
      cwd: folder,
      encoding: "utf8"
    })
    const sbom = JSON.parse(readFileSync(join(folder, "release/sbom.cdx.json"), "utf8"))
    return { status, lines: stdout.trim().split("\n").slice(1), sbom }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe("the check of a release", () => {
  it("passes, and lists the packages of production", () => {
    const { lines, sbom, status } = check(["files", "digest", "licences", "scripts", "telemetry", "engines"])
    const failed = lines.filter((line) => !line.startsWith("passed: "))
    assert.deepStrictEqual([status, failed], [0, []])
    assert.strictEqual(sbom.bomFormat, "CycloneDX")
    const names = (sbom.components as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
    assert.includeMembers(names, ["effect", "pg", "undici"])
    assert.notInclude(names, "vitest")
  })

  it("names each planted problem", () => {
    const { lines, status } = check(["files", "digest", "licences", "scripts", "telemetry", "engines"], {
      Dockerfile: (text) =>
        text.replace("WORKDIR /app", "WORKDIR").replace(/^ARG NODE_DIGEST=.*$/m, "ARG NODE_DIGEST=sha256:0"),
      "ops/compose.yaml": (text) => text.replace("read_only: true", "read_onyl: true"),
      "package.json": (text) => text.replace("^20.20.0", "^20.0.0"),
      "package-lock.json": (text) => {
        const lock = JSON.parse(text)
        Object.assign(lock.packages, {
          "node_modules/posthog-node": { version: "1.0.0", license: "MIT", dev: true },
          "node_modules/planted": { version: "1.0.0", license: "GPL-3.0-only", hasInstallScript: true }
        })
        return JSON.stringify(lock)
      }
    })
    assert.strictEqual(status, 1)
    const kinds = lines.filter((line) => !line.startsWith("  "))
    const parts = ["files", "digest", "licences", "scripts", "telemetry", "engines"]
    assert.deepStrictEqual(
      kinds,
      parts.map((part) => `FAILED: ${part}`)
    )
    const details = lines.filter((line) => line.startsWith("  ")).map((line) => line.replace(/ \/.*\//, " "))
    assert.deepStrictEqual(details, [
      "  Dockerfile line 5: Instruction has no arguments",
      "  compose.yaml:1: invalid-schema",
      "  Dockerfile: no digest. Write the one of `docker buildx imagetools inspect node:24.21.0-bookworm-slim` after `ARG NODE_DIGEST=`: sha256 and 64 digits.",
      "  planted 1.0.0: the licence GPL-3.0-only is not allowed.",
      "  planted 1.0.0 has an install script. Find out whether it is needed.",
      "  posthog-node 1.0.0 reports to its makers.",
      "  package.json: engines.node is ^20.0.0 || ^22.12.0 || ^24.0.0, and the tested versions are ^20.20.0 || ^22.12.0 || ^24.0.0."
    ])
  })
})

describe("an embedded database in a container", () => {
  it("is lost without a volume", () => {
    assert.strictEqual(whyLost("/usr/absent/data"), "is not on a volume")
    assert.strictEqual(whyLost("/dev/shm/data"), "is in memory")
    // Treats /dev/shm as the root of the container.
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
