// Carries out the steps of the Dockerfile in a clean folder, where no container engine is. The paths of the image lie below the
// folder, with the files of the last commit; the commands run with the node and npm of this machine.
//   node ops/image-steps.mjs [FOLDER]
// Then it starts the image's command without a volume, which must be refused, and, with TEST_DATABASE_URL, on that database
// until the image's health check passes.
import { spawn, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { DockerfileParser } from "dockerfile-ast"

const root = fileURLToPath(new URL("../", import.meta.url))
const folder = resolve(process.argv[2] ?? mkdtempSync(join(tmpdir(), "catalog-image-")))

const run = (command, args, options) => {
  const { status } = spawnSync(command, args, { stdio: ["ignore", "inherit", "inherit"], ...options })
  if (status !== 0) throw new Error(`${[command, ...args].join(" ")} ended with ${status}`)
}

const context = join(folder, "context")
mkdirSync(context, { recursive: true })
run("sh", ["-c", 'git archive HEAD | tar -x -C "$0"', context], { cwd: root })
for (const ignored of readFileSync(join(root, ".dockerignore"), "utf8").split("\n").filter(Boolean))
  rmSync(join(context, ignored), { recursive: true, force: true })

/** State of the stage that is built: where its root lies, its working directory, and its environment. */
let stage = { root: join(folder, "none"), directory: "/", env: {} }
let stages = 0
let health = []
let command = []

const pathOf = (path, { directory, root } = stage) => join(root, path.startsWith("/") ? path : join(directory, path))
/** Folders of the image in a shell command, with the folder of the stage before them. */
const placed = (text) => text.replaceAll(/(?<=\s)\/(?=\w)/g, `${stage.root}/`)

const copy = (words) => {
  const from = words.find((word) => word.startsWith("--from="))?.slice("--from=".length)
  const paths = words.filter((word) => !word.startsWith("--"))
  const target = paths.pop()
  const source = from === undefined ? (path) => join(context, path) : (path) => join(folder, from, path)
  for (const path of paths) {
    const isFolder = target.endsWith("/") && paths.length > 0 && path !== "." && /\.\w+$/.test(path)
    cpSync(source(path), pathOf(isFolder ? join(target, path.split("/").at(-1)) : target), { recursive: true })
  }
}

const steps = {
  ARG: () => {},
  FROM: (words) => {
    const name = words[words.findIndex((word) => word.toUpperCase() === "AS") + 1] ?? "image"
    stage = { root: join(folder, words.length > 1 ? name : "image"), directory: "/", env: {} }
    stages++
    mkdirSync(stage.root, { recursive: true })
  },
  WORKDIR: ([path]) => {
    stage.directory = path
    mkdirSync(pathOf(path), { recursive: true })
  },
  ENV: (words) => {
    for (const word of words) stage.env[word.slice(0, word.indexOf("="))] = word.slice(word.indexOf("=") + 1)
  },
  COPY: copy,
  RUN: (_, text) => run("sh", ["-c", placed(text)], { cwd: pathOf("."), env: { ...process.env, ...stage.env } }),
  USER: () => {},
  EXPOSE: () => {},
  HEALTHCHECK: (_, text) => {
    health = JSON.parse(text.slice(text.indexOf("CMD") + "CMD".length))
  },
  CMD: (_, text) => {
    command = JSON.parse(text)
  }
}

const dockerfile = readFileSync(join(root, "Dockerfile"), "utf8")
for (const instruction of DockerfileParser.parse(dockerfile).getInstructions()) {
  const keyword = instruction.getKeyword()
  const { end, start } = instruction.getRange()
  const lines = dockerfile.split("\n").slice(start.line, end.line + 1)
  const text = lines
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .slice(keyword.length)
    .trim()
  if (steps[keyword] === undefined) throw new Error(`The script does not know ${keyword}.`)
  console.log(`${keyword} ${text}`)
  steps[keyword](text.split(/\s+/), text)
}
if (stages !== 2) throw new Error("The Dockerfile has two stages.")

const port = 4989
const options = (settings) => ({
  cwd: pathOf("."),
  env: { PATH: process.env.PATH, ...stage.env, DATA_DIR: pathOf("/data"), PORT: String(port), ...settings }
})

const refused = spawnSync(command[0], command.slice(1), { ...options({}), encoding: "utf8" })
if (refused.status !== 1 || !refused.stderr.startsWith("DATA_DIR: "))
  throw new Error(`Without a volume the start is not refused: ${refused.status} ${refused.stderr}`)
console.log(refused.stderr.trim())

const { TEST_DATABASE_URL: url } = process.env
if (url !== undefined) {
  const service = spawn(command[0], command.slice(1), {
    ...options({ DATABASE_URL: url, DRAIN_DELAY: "0" }),
    stdio: "inherit"
  })
  const ended = new Promise((resolve) => service.once("exit", resolve))
  try {
    for (let tries = 0; spawnSync(health[0], health.slice(1), options({})).status !== 0; tries++) {
      if (tries === 120 || service.exitCode !== null) throw new Error("The health check does not pass.")
      await sleep(500)
    }
  } finally {
    service.kill("SIGTERM")
  }
  if ((await ended) !== 0) throw new Error("The service did not stop well.")
  console.log("The health check passed, and the service stopped.")
}
if (process.argv[2] === undefined) rmSync(folder, { recursive: true })
