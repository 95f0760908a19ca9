// Checks what is released: `npm run release:check`. Writes release/sbom.cdx.json and release/licences.md. Docs: docs/operations.md,
// "Check a release".
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { DCLinter } from "dclint"
import dockerfileUtils from "dockerfile-utils"

const root = fileURLToPath(new URL("../", import.meta.url))
const read = (path) => readFileSync(`${root}${path}`, "utf8")

/** The packages of the lock file, by name and version. */
const packages = Object.entries(JSON.parse(read("package-lock.json")).packages)
  .filter(([place]) => place !== "")
  .map(([place, given]) => ({ ...given, name: given.name ?? place.slice(place.lastIndexOf("node_modules/") + 13) }))
const production = packages.filter(({ dev }) => dev !== true)

const allowed = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "MIT-0",
  "Unlicense"
]

/** The lock file does not know the licence of a build for another system. It is that of the package which it is a part of. */
const licenceOf = ({ license, name }) =>
  license ??
  (name.startsWith("@msgpackr-extract/")
    ? production.find((each) => each.name === "msgpackr-extract")?.license
    : undefined)

/** Of "(A OR B)" one must be allowed. */
const isAllowed = (licence = "") =>
  licence
    .replace(/^\((.*)\)$/, "$1")
    .split(" OR ")
    .some((each) => allowed.includes(each))

/** Packages of production with an install script, and why it need not run. */
const needlessScripts = {
  "@parcel/watcher": "the bundle does not load it; its builds for each system are packages too",
  "msgpackr-extract": "its builds for each system are packages too, and msgpackr works without it"
}

/** Packages that report to their makers when they are installed or run. */
const reporting =
  /^(?:@scarf\/scarf|@redocly\/cli|@(?:amplitude|datadog|posthog|segment|sentry)\/.*|analytics-node|mixpanel|next-telemetry|posthog-node|update-notifier)$/

/** The supported lines of Node, with the oldest version of each. */
const testedLines = ["20.20.0", "22.12.0", "24.0.0"]

/** Rules of the compose linter that are not kept: keys are in the order of their matter, and a name is needed for what is built. */
const unkeptRules = [
  "no-build-and-image",
  "require-quotes-in-ports",
  "service-keys-order",
  "services-alphabetical-order",
  "top-level-properties-order"
]

/** Problems of a Dockerfile. */
const dockerfileProblems = (text) =>
  dockerfileUtils.validate(text).map(({ message, range }) => `line ${range.start.line + 1}: ${message}`)

/** Problems of compose files. */
const composeProblems = (paths) =>
  new DCLinter({
    rules: Object.fromEntries(unkeptRules.map((rule) => [rule, 0])),
    quiet: false,
    debug: false,
    exclude: []
  })
    .lintFiles(paths, false)
    .flatMap(({ filePath, messages }) => messages.map(({ line, rule }) => `${filePath}:${line}: ${rule}`))

const problems = {
  files: () => [
    ...dockerfileProblems(read("Dockerfile")).map((problem) => `Dockerfile ${problem}`),
    ...composeProblems([`${root}ops/compose.yaml`, `${root}ops/compose.citus.yaml`])
  ],
  digest: () => {
    const [, digest = ""] = /^ARG NODE_DIGEST=(.*)$/m.exec(read("Dockerfile")) ?? []
    const [, tag = ""] = /^ARG NODE_TAG=(.*)$/m.exec(read("Dockerfile")) ?? []
    return /^sha256:[0-9a-f]{64}$/.test(digest)
      ? []
      : [
          `Dockerfile: no digest. Write the one of \`docker buildx imagetools inspect node:${tag}\` after \`ARG NODE_DIGEST=\`: sha256 and 64 digits.`
        ]
  },
  licences: () =>
    production
      .filter((each) => !isAllowed(licenceOf(each)))
      .map((each) => `${each.name} ${each.version}: the licence ${licenceOf(each)} is not allowed.`),
  scripts: () =>
    production
      .filter(({ hasInstallScript, name }) => hasInstallScript === true && needlessScripts[name] === undefined)
      .map(({ name, version }) => `${name} ${version} has an install script. Find out whether it is needed.`),
  telemetry: () =>
    packages
      .filter(({ name }) => reporting.test(name))
      .map(({ name, version }) => `${name} ${version} reports to its makers.`),
  engines: () => {
    const range = testedLines.map((version) => `^${version}`).join(" || ")
    const { node } = JSON.parse(read("package.json")).engines
    return node === range ? [] : [`package.json: engines.node is ${node}, and the tested versions are ${range}.`]
  },
  image: () => {
    const { status } = spawnSync(process.execPath, ["ops/image-steps.mjs"], { cwd: root, stdio: ["ignore", 2, 2] })
    return status === 0 ? [] : ["The steps of the Dockerfile fail: see above."]
  }
}

/** What npm leaves out with `--omit dev` includes packages that production needs too, so its whole list is cut here. */
const sbomOfProduction = () => {
  const given = execFileSync("npm", ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1e8,
    stdio: ["ignore", "pipe", "ignore"]
  })
  const sbom = JSON.parse(given)
  const kept = new Set(production.map(({ name, version }) => `${name}@${version}`))
  const isKept = (reference) => kept.has(reference) || reference === sbom.metadata.component["bom-ref"]
  return {
    ...sbom,
    components: sbom.components.filter((each) => isKept(each["bom-ref"])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => isKept(ref))
      .map(({ dependsOn, ref }) => ({ ref, dependsOn: dependsOn.filter(isKept) }))
  }
}

const writeLists = () => {
  mkdirSync(`${root}release`, { recursive: true })
  const sbom = sbomOfProduction()
  writeFileSync(`${root}release/sbom.cdx.json`, `${JSON.stringify(sbom, null, 2)}\n`)
  const rows = production.map((each) => `| ${each.name} | ${each.version} | ${licenceOf(each)} |`).sort()
  const lines = [
    "# Licences of production packages",
    "",
    "| Package | Version | Licence |",
    "|---|---|---|",
    ...new Set(rows)
  ]
  writeFileSync(`${root}release/licences.md`, `${lines.join("\n")}\n`)
  return sbom.components.length
}

console.log(`release/sbom.cdx.json: ${writeLists()} packages; release/licences.md`)
// One part: `npm run release:check -- engines`.
const chosen = process.argv.slice(2)
let failed = 0
for (const [name, find] of Object.entries(problems)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const found = find()
  failed += found.length
  console.log(
    `${found.length === 0 ? "passed" : "FAILED"}: ${name}${found.map((problem) => `\n  ${problem}`).join("")}`
  )
}
process.exitCode = failed === 0 ? 0 : 1
