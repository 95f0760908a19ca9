import { CliConfig, type Command, CommandDescriptor, type HelpDoc, type Span, Usage } from "@effect/cli"
import { Effect, LogLevel } from "effect"
import { editsBetween } from "../model/EditDistance.ts"

/** The commands on the first help page, grouped by purpose. */
const groups: ReadonlyArray<readonly [title: string, names: ReadonlyArray<string>]> = [
  ["Run the service", ["serve", "migrate", "status", "demo", "secret"]],
  ["Accounts", ["account", "user", "key", "connection", "webhook"]],
  ["Stores", ["store", "platform", "import", "export"]],
  ["The catalog", ["draft", "store-version", "definition", "bulk", "publish", "drop", "jobs", "history", "health"]]
]

const config = CliConfig.make({ showBuiltIns: false, showAllNames: false })

/** One line for options of every command. The library would list them in full on every page. */
const everywhere =
  "Every command has --help. Others: --version, --completions SHELL (sh, bash, fish or zsh), --log-level LEVEL, --wizard."

const textOf = (span: Span.Span): string => {
  switch (span._tag) {
    case "Text":
    case "URI":
      return span.value
    case "Sequence":
      return textOf(span.left) + textOf(span.right)
    case "Highlight":
    case "Strong":
    case "Weak":
      return textOf(span.value)
  }
}

const partsOf = (doc: HelpDoc.HelpDoc): ReadonlyArray<Exclude<HelpDoc.HelpDoc, HelpDoc.Sequence | HelpDoc.Empty>> =>
  doc._tag === "Empty" ? [] : doc._tag === "Sequence" ? [...partsOf(doc.left), ...partsOf(doc.right)] : [doc]

const paragraphsOf = (doc: HelpDoc.HelpDoc) =>
  partsOf(doc).flatMap((part) => (part._tag === "Paragraph" ? [textOf(part.value).trim()] : []))

/** Texts that the library adds to descriptions. They are removed, because the usage says the same. */
const repeatedTexts =
  /^(?:A user-defined piece of text\.|An integer\.|A true or false value\.|One of the following: .*|This (?:option|argument) (?:may|must) be repeated .*|This setting is optional\.\s*)/

type Entry = readonly [name: string, about: string]

const entriesOf = (doc: HelpDoc.HelpDoc): ReadonlyArray<Entry> =>
  partsOf(doc).flatMap((part): ReadonlyArray<Entry> => {
    if (part._tag !== "DescriptionList") return []
    return part.definitions.map(
      ([name, about]): Entry => [
        textOf(name).trim(),
        paragraphsOf(about)
          .map((paragraph) => paragraph.replace(repeatedTexts, ""))
          .filter((paragraph) => paragraph !== "")
          .join(" ")
      ]
    )
  })

/** The commands one level below. The library's list has all levels, with the whole usage before each description. */
const commandsOf = (doc: HelpDoc.HelpDoc): ReadonlyArray<Entry> => {
  const found = new Map<string, string>()
  for (const part of partsOf(doc))
    if (part._tag === "Enumeration")
      for (const element of part.elements)
        if (element._tag === "Paragraph" && element.value._tag === "Sequence") {
          const [name = ""] = textOf(element.value.left).trim().split(" ", 1)
          if (!found.has(name)) found.set(name, textOf(element.value.right).trim())
        }
  return [...found]
}

/** Wraps text at `width` characters and indents all lines except the first. A longer word gets a line of its own. */
const wrap = (text: string, width: number, indent: string): string => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (line !== "" && longer.length > width) {
      lines.push(line)
      line = indent + word
    } else line = longer
  }
  return [...lines, line].join("\n")
}

const nameWidth = 24

const toList = (entries: ReadonlyArray<Entry>, width: number) => {
  const column = Math.min(nameWidth, Math.max(0, ...entries.map(([name]) => name.length)))
  const indent = " ".repeat(column + 4)
  return entries.map(([name, about]) => {
    const start = name.length > column ? `  ${name}\n${indent}` : `  ${name.padEnd(column)}  `
    return `${start}${wrap(about, width - indent.length, "").replaceAll("\n", `\n${indent}`)}`
  })
}

const bold = (text: string) => `\u001b[0;1m${text}\u001b[0m`

const section = (title: string, lines: ReadonlyArray<string>) => (lines.length === 0 ? [] : ["", bold(title), ...lines])

/** The entries of a document under one of its headers. */
const partsUnder = (doc: HelpDoc.HelpDoc, title: string) => {
  const parts = partsOf(doc)
  const start = parts.findIndex((part) => part._tag === "Header" && textOf(part.value) === title)
  const end = parts.findIndex((part, index) => index > start && part._tag === "Header")
  return start === -1 ? [] : parts.slice(start + 1, end === -1 ? undefined : end)
}

/** The width of the help: the terminal's, from 40 to 100 characters. 80 if there is no terminal or its width is unknown. */
const widthOf = ({ columns = 0, isTTY }: { readonly isTTY?: boolean; readonly columns?: number }) =>
  isTTY === true && columns > 0 ? Math.min(100, Math.max(40, columns)) : 80

/** The library's help document of the command at the end of a path. */
const findHelp = (root: CommandDescriptor.Command<unknown>, path: ReadonlyArray<string>) =>
  Effect.flatMap(CommandDescriptor.parse(root, ["catalog", ...path, "--help"], config), (directive) =>
    directive._tag === "BuiltIn" && directive.option._tag === "ShowHelp"
      ? Effect.succeed(directive.option)
      : Effect.dieMessage(`the library has no help for ${path.join(" ")}`)
  )

/** The library's help document of the command that the arguments name, its path, and its own commands. */
const helpFor = (root: CommandDescriptor.Command<unknown>, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const path: Array<string> = []
    let found = yield* findHelp(root, path)
    let commands = commandsOf(found.helpDoc)
    for (const word of args) {
      if (!commands.some(([name]) => name === word)) continue
      path.push(word)
      found = yield* findHelp(root, path)
      commands = commandsOf(found.helpDoc)
    }
    return { ...found, path, commands }
  })

/**
 * The error message if the arguments name a command that does not exist. The library's own message would list the first level
 * of commands, even if a deeper one was misspelled.
 */
export const unknownCommand = (
  { descriptor }: Pick<Command.Command<"catalog", never, never, unknown>, "descriptor">,
  args: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const path: Array<string> = []
    for (const word of args) {
      if (word.startsWith("-")) return undefined
      const { helpDoc } = yield* findHelp(descriptor, path)
      const names = commandsOf(helpDoc).map(([name]) => name)
      if (names.length === 0) return undefined
      if (!names.includes(word)) {
        const edits = (name: string) => editsBetween(word.toLowerCase(), name)
        const [nearest] = names.filter((name) => edits(name) <= 2).sort((left, right) => edits(left) - edits(right))
        const quotedPath = (name: string) => JSON.stringify([...path, name].join(" "))
        return [
          `No command ${quotedPath(word)}.`,
          ...(nearest === undefined ? [] : [`Did you mean ${quotedPath(nearest)}?`]),
          ...(path.length > 0 ? [`Commands of ${path.join(" ")}: ${names.join(", ")}.`] : []),
          ...(path.length === 0 && nearest === undefined ? ["See `catalog --help`."] : [])
        ].join(" ")
      }
      path.push(word)
    }
    return undefined
  })

/** The global options whose values must be in a list of choices. */
const choices: ReadonlyMap<string, ReadonlyArray<string>> = new Map([
  ["--completions", ["sh", "bash", "fish", "zsh"]],
  ["--log-level", LogLevel.allLevels.map(({ _tag }) => _tag.toLowerCase())]
])

/** The options of the command that the arguments name. */
const optionsOf = (root: CommandDescriptor.Command<unknown>, args: ReadonlyArray<string>) =>
  Effect.map(helpFor(root, args), ({ helpDoc }) => partsUnder(helpDoc, "OPTIONS").flatMap((part) => entriesOf(part)))

/**
 * The error message if the value of an option is not in its list of choices. The library's own message does not name the option, and
 * the library would take a wrong log level for the name of a command.
 */
export const wrongChoice = (
  { descriptor }: Pick<Command.Command<"catalog", never, never, unknown>, "descriptor">,
  args: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    if (!args.some((word) => word.startsWith("--"))) return undefined
    const own = (yield* optionsOf(descriptor, args)).flatMap(([name]): ReadonlyArray<[string, Array<string>]> => {
      const [, option = "", values = ""] = /^(--\S+) (\S+(?: \| \S+)+)$/.exec(name) ?? []
      return option === "" ? [] : [[option, values.split(" | ")]]
    })
    const knownOptions = new Map([...choices, ...own])
    for (const [index, word] of args.entries()) {
      const [name = "", value = args[index + 1] ?? ""] = word.split("=", 2)
      const values = knownOptions.get(name)
      if (values !== undefined && !values.includes(value)) return `${name}: must be one of ${values.join(", ")}`
    }
    return undefined
  })

/** Words that the library takes for the value of a flag before them. */
const flagValue = /^(?:1|y|yes|on|0|n|no|off)$/

/**
 * The arguments, with `=true` after each flag that one of these words follows. Otherwise the library would take the word for the value of
 * the flag, for example the number of a conflict after `--json`.
 */
export const withFlagValues = (
  { descriptor }: Pick<Command.Command<"catalog", never, never, unknown>, "descriptor">,
  args: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    if (!args.some((word) => flagValue.test(word))) return args
    const options = yield* optionsOf(descriptor, args)
    // Of other options, the name is followed by the name of the value.
    const flags = new Set(options.flatMap(([name]) => (name.includes(" ") ? [] : [name])))
    return args.map((word, index) => (flags.has(word) && flagValue.test(args[index + 1] ?? "") ? `${word}=true` : word))
  })

/** Whether these arguments ask for help. As in the library, the flag counts anywhere, also after `--`. */
export const asksForHelp = (args: ReadonlyArray<string>): boolean => args.includes("--help") || args.includes("-h")

/**
 * A usage in one line. The library does not mark options that can be repeated as optional, although no command needs one of them.
 */
const usageOf = (span: Span.Span) =>
  textOf(span)
    .replaceAll(/ +/g, " ")
    .trim()
    .replaceAll(/(--[\w-]+ [^\s.[\]]+)\.\.\./g, "[$1]...")

/**
 * The help page of the command that these arguments name. The library's own page lists all levels, puts each description after
 * the longest usage, and does not wrap lines.
 */
export const helpOf = (
  { descriptor }: Pick<Command.Command<"catalog", never, never, unknown>, "descriptor">,
  version: string,
  args: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const { commands, helpDoc, path, usage } = yield* helpFor(descriptor, args)
    const width = widthOf(process.stdout)
    const isRoot = path.length === 0
    // A group without options needs a sub-command; a group with options also works without one.
    const more = commands.length === 0 ? [] : partsUnder(helpDoc, "OPTIONS").length === 0 ? ["COMMAND"] : ["[COMMAND]"]
    const usages = Usage.enumerate(usage, config).map((span) => {
      const own = isRoot ? [] : [usageOf(span)]
      const words = ["catalog", ...path.slice(0, -1), ...own, ...more].join(" ")
      // An option and its value stay on one line.
      return `  ${wrap(words.replaceAll(/(--[\w-]+) (?=\w)/g, "$1\u00a0"), width - 2, "    ").replaceAll("\u00a0", " ")}`
    })
    const list = (title: string) =>
      toList(
        partsUnder(helpDoc, title).flatMap((part) => entriesOf(part)),
        width
      )
    return [
      ...(isRoot ? [bold(`catalog ${version}`)] : []),
      ...partsUnder(helpDoc, "DESCRIPTION").flatMap((part) =>
        paragraphsOf(part).map((paragraph) => wrap(paragraph, width, ""))
      ),
      ...section("Usage", usages),
      ...section("Arguments", list("ARGUMENTS")),
      ...section("Options", list("OPTIONS")),
      ...(isRoot
        ? [
            ...groups.flatMap(([title, names]) =>
              section(
                title,
                toList(
                  commands.filter(([name]) => names.includes(name)),
                  width
                )
              )
            ),
            "",
            wrap(everywhere, width, "")
          ]
        : section("Commands", toList(commands, width)))
    ].join("\n")
  })
