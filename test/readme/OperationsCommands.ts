import { readFileSync } from "node:fs"
import { assert } from "@effect/vitest"
import { isLong } from "../support/Volume.ts"

export const operationsPage = readFileSync("docs/operations.md", "utf8")

/** Commands under one heading. Text in a sentence that is a command counts as a block of its own. */
interface Block {
  readonly title: string
  readonly isInline: boolean
  readonly commands: ReadonlyArray<string>
}

const continued = / *\\\n */g

/** The programs whose names begin a command in a sentence. */
const inline = /`((?:npm|npx|node|docker|systemctl|systemd-[a-z]+|psql|pg_[a-z]+|bash|sh|curl|catalog) [^`\n]+)`/g

/** The page with blanks in place of its blocks. */
const sentencesOf = (page: string) =>
  page.replaceAll(/^ *```[a-z]*\n[\s\S]*?^ *```$/gm, (block) => block.replaceAll(/[^\n]/g, " "))

/** All commands of a page, in their order within blocks. Commands that `&&` joins count as several. */
export const blocksOf = (page: string): ReadonlyArray<Block> => {
  const titleAt = (index: number) => [...page.slice(0, index).matchAll(/^##+ (.*)$/gm)].at(-1)?.[1] ?? ""
  const fenced = [...page.matchAll(/^ *```(?:sh|sql)\n([\s\S]*?)^ *```$/gm)].map(({ 1: text = "", index }) => ({
    title: titleAt(index),
    isInline: false,
    commands: text
      .replaceAll(continued, " ")
      .split(/\n| && /)
      .map((command) => command.trim())
      .filter((command) => command !== "")
  }))
  const inSentences = [...sentencesOf(page).matchAll(inline)].map(({ 1: command = "", index }) => ({
    title: titleAt(index),
    isInline: true,
    commands: [command]
  }))
  return [...fenced, ...inSentences]
}

/** Sections with blocks of commands that test/readme/Operations.test.ts runs. */
export const sectionsRun: ReadonlyArray<string> = [
  "Deploy",
  "Compose files",
  "A systemd unit",
  "A pooler",
  "Back up and restore",
  "Upgrade and roll back",
  "Change SECRET_KEY"
]

const noEngine = "needs a container engine"
const noSystemd = "needs systemd as the first process of the machine"

/** Commands that cannot run where the tests run, with the reason. */
export const notRun: Readonly<Record<string, string>> = {
  "docker build --tag catalog:local .": noEngine,
  "docker run --read-only --tmpfs /tmp --publish 4080:4080 --env DATABASE_URL=postgres://… --env SECRET_KEY=… --env BASE_URL=… catalog:local":
    noEngine,
  'docker run --rm --env DATABASE_URL=postgres://… catalog:local node dist/main.js account create --name "…" --email …':
    noEngine,
  "docker compose -f ops/compose.yaml up -d": noEngine,
  'docker compose -f ops/compose.yaml exec catalog node dist/main.js account create --name "…" --email …': noEngine,
  "docker buildx imagetools inspect node:24.21.0-bookworm-slim": "needs a registry of images",
  "systemctl enable --now catalog": noSystemd,
  "systemd-analyze security": noSystemd,
  "systemd-run --pty --property EnvironmentFile=/etc/catalog/env node /opt/catalog/dist/main.js account list": noSystemd
}

/** Commands that another file runs. */
export const runElsewhere: Readonly<Record<string, string>> = {
  "npm run failover -- kill stop": "test/faults/FailOver.test.ts",
  "npm run release:check": "test/ops/Files.test.ts",
  "npm run release:check -- licences": "test/ops/Files.test.ts",
  "node ops/image-steps.mjs": "test/ops/ImageSteps.test.ts",
  "node dist/main.js user free --email owner@example.com": "test/cli/Commands.test.ts",
  "node dist/main.js user invite --email owner@example.com --account ACCOUNT_ID": "test/cli/Commands.test.ts",
  "catalog account delete ACCOUNT_ID": "test/cli/Jobs.test.ts"
}

/** Commands in sentences that test/readme/Operations.test.ts runs. */
export const inlineRun: ReadonlyArray<string> = ['node dist/main.js account create --name "…" --email …']

/** Commands that install packages, which takes a minute: they run in `npm run test:long` only. */
const isInstall = (command: string) => /^npm (?:ci|prune)\b|^npm run build$/.test(command)

/** The commands of the page of which no test is known. */
export const unknownCommands = (page: string): ReadonlyArray<string> =>
  blocksOf(page).flatMap(({ commands, isInline, title }) =>
    commands.filter(
      (command) =>
        !(command in notRun) &&
        !(command in runElsewhere) &&
        !(isInline ? inlineRun.includes(command) : sectionsRun.includes(title))
    )
  )

/** The commands of each block of a section that can run here. */
export const commandsOf = (title: string): ReadonlyArray<ReadonlyArray<string>> => {
  const blocks = blocksOf(operationsPage).filter((block) => block.title === title && !block.isInline)
  assert.isNotEmpty(blocks, `no commands in ${title}`)
  return blocks.map(({ commands }) =>
    commands.filter((command) => !(command in notRun) && !(command in runElsewhere) && (isLong || !isInstall(command)))
  )
}
