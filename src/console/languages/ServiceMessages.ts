import type { Sentence, Values } from "./Words.tsx"

/**
 * Rules that a value breaks, as services write them. Pages put them after a subject: "The price must be at least 0." Other
 * languages write them after a colon.
 */
export const rules: ReadonlyArray<Sentence> = [
  "must be one line of text",
  "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it",
  "must be a whole number from -9007199254740991 to 9007199254740991",
  "must be a whole number from 1 to {count}",
  "must be at most {count} places from place {place}",
  "must be true or false",
  "must be a date such as 2026-01-31",
  "must be a URL that begins with http:, https:, mailto:, sms: or tel:",
  "must be a date and time such as 2026-01-31T12:30:00",
  "must be a colour such as #1a2b3c",
  "must be JSON such as {example}, with one of the units {units}",
  "must be JSON such as {example}",
  "must be JSON, at most {depth} levels deep",
  "must be a URL",
  "must have at most {count} characters",
  "must have at least {count} characters",
  "must have a value from its scale_min to its scale_max",
  "must be at least {min}",
  "must be at most {max}",
  "must have at most {count} digits after the point",
  "must be one of {choices}",
  "must be a URL whose host is one of {choices}",
  "must match the pattern {pattern}",
  "must be a JSON list of strings",
  "must be a JSON list",
  "each item {problem}",
  "must have at most {count} items",
  "must have at least {count} items",
  "must have {min} to {max} characters",
  "must not be in the past",
  "must be an e-mail address, such as ada@example.com",
  "must be one of the languages in the list",
  "must be one of the time zones in the list",
  "is in the team already",
  "has accepted the invitation already; disable the user instead",
  "is on already",
  "cannot be required before you have one yourself: set it up on your profile",
  "is the last administrator of the account; make somebody else administrator first",
  "is your own address: switch your second factor off on your profile, with your password",
  "is your own address: change your password on your profile, with the current one",
  "is not changed: you are no administrator any more",
  "belongs to a disabled user",
  "has no password: only the operator of this service can enable this user",
  "belongs to a user of another account; choose another e-mail address",
  "keeps the role: choose one of {choices}",
  "must be a URL, such as https://hooks.example.com/catalog",
  "must begin with https:// (http:// only for a host of the setting WEBHOOK_PRIVATE_HOSTS)",
  "must not contain a user or a password; the signature proves who sends",
  "must not have a fragment (the part from # on)",
  "cannot receive webhooks. {problem}",
  "has no platform: nothing can be published to it",
  "is {state}, not under review",
  "is paused: resume or cancel its job",
  "is already being applied; if its process stopped, another process continues within 75 s",
  "stopped because its lease expired: {cause}",
  "has no platform",
  "has a {kind} with the id {id}, which cannot be stored",
  "has {things} whose SKUs belong to different products here: {items}; give all of them to one product, or to none",
  "has a {things} whose {key} {problem}",
  "is only for stores on the platform {platform}",
  "is not a field of the platform {platform}: choose from {choices}",
  "is not a field of the platform {platform}",
  "belongs to {owner}: a {platform} store needs another one",
  "must be a language such as en, pt-BR or zh-Hans",
  "must be an ISO 4217 code such as EUR",
  "is read from the store itself: leave it out",
  "is an alias of {domain}: link {other} instead",
  "must be a host name such as shop.example.com",
  "must be the store's address on Shopify, such as tarn-and-tern.myshopify.com",
  "must be one word of at most 1024 visible ASCII characters",
  "must be later than the start",
  "must be an IANA time zone such as Europe/Berlin",
  "must have 1 to {max} changes",
  "writes the same field as changes[{count}]",
  "must be a number above 0 and below 100, with at most two decimals, such as 20 or 12.5",
  "must be namespace.key, of letters, digits, _ and -, with 3 to 255 characters before the dot and 2 to 64 after it",
  "must be text of at most {count} characters",
  "is on the platform {platform}, for which this process has no adapter: nothing can be published to it",
  "must not be empty",
  "The product has got its first option meanwhile: send the form again to see it.",
  'must not contain " / "',
  'must not be "Default Title", which says that a variant has no options',
  "must not contain U+0000",
  "must be an address that begins with https://, without a user name or password",
  "must have one value",
  "must have a value for each option: {choices}"
]

/** Messages of services that stand alone, or as the value of a placeholder. */
export const messages: ReadonlyArray<Sentence> = [
  // Subjects of rules.
  "The language",
  "The time zone",
  "The password",
  "The new password",
  "The e-mail address",
  "The second factor",
  "The position",
  "The earlier value",
  "The gallery",
  "This value",
  "Each item",
  "The store's platform cannot be reached: {cause}.",
  "The values were sent to the store's platform, but {cause}: whether it accepted them is not known yet.",
  "The store's platform refused the request ({code}): {cause}",
  "it limits the number of requests",
  "it did not answer in time",
  "the connection failed",
  "it reports an internal error",
  "its answer is not valid",
  "it failed several times in a row, so calls are paused for a moment",
  "it still processes the file",
  "this process has no adapter for it",
  "{cause} Tried {count} time.",
  "{cause} Tried {count} times.",
  "{cause} Tried for {count} hours.",
  "{cause} The publish is tried again for up to {count} hours.",
  "The store's platform took too long.",
  "The publishing process stopped {count} times before it finished.",
  "product {id} is not live on this store: publish it first, or take it out of the collection",
  "its product {id} is not live on this store: publish the product first",
  "Its product is no longer live on the store: publish the product first.",
  "The drop ended before the store could take its values.",
  "The publish was cancelled before it was sent.",
  "no publish to this store waits: there is nothing to cancel",
  "the publish is being sent at this moment: wait for its outcome, or try again",
  "the publish gives the store the values from before a drop: it cannot be cancelled",
  "the publish may have reached the store, so it cannot be cancelled: it ends when the store's platform answers, then the draft can be changed and published again",
  "the {kind} was never published to this store: publish it first",
  "another variant of the product has these option values",
  "the product is not on one of these stores",
  "The variants of the product have no option values: give them values first.",
  "The product has other options on one of its stores: give it the same options there first.",
  "The first publish of the product has not ended yet: add the variant after it.",
  "The product has {count} variants, the most that stores accept.",
  "The gallery has {count} pictures, the most that stores accept.",
  "The outcome of the publish is unknown.",
  "The store was not linked when the drop started.",
  "The store was unlinked before the drop ended.",
  "The store was unlinked before the earlier value was published.",
  "The store was unlinked before the publish had ended.",
  "The store has no such product any more.",
  "The product has other options in the store. Refresh the store, then publish again.",
  "The store cannot show the file {name}: {cause} Correct its address, then publish a product that shows it: this sends the file again.",
  "The access token does not allow reading the catalog.",
  "The store does not accept the access token: the token is wrong or was revoked.",
  "the drop is {state}: only a scheduled one can be cancelled",
  "the drop {drop} ({id}) changes this field at the same time",
  "Its certificate is not trusted: it has expired, is for another host, or is signed by an authority that the service does not know.",
  "Its address begins with http://, and the setting WEBHOOK_PRIVATE_HOSTS does not have its host.",
  "Its host cannot be found.",
  "Its host has an address that is not public.",
  "It did not answer.",
  "An account has at most {count} webhooks",
  "Link {domain}",
  "Unlink {domain}",
  "Publish {things} to {domain}",
  "all changes",
  "{count} selected",
  "Add {things} to {domain}",
  "Take {things} off {domain}",
  "Delete {things}",
  "Delete {things}, with pictures",
  "the {kind} is being published to a store: wait until the publish has ended",
  "the {kind} was published to a store, or imported from one: delete it in that store, then refresh the store",
  "the {kind} failed to be published to a store, but may have reached it, so it cannot be deleted",
  "the gallery of {title} has it: take it out of that gallery first",
  "the drop {drop} changes it: wait until the drop has ended",
  "the drop {drop} will change it: cancel the drop first, or wait until the drop has ended",
  "it is being published to {domain}: wait until the publish has ended",
  "its variant {id}: {problem}",
  "its product would have no variant: delete the product instead",
  "the collection has more than {count} products: take some out first",
  "the {kind} is not on this store",
  "the {kind} failed to be published to this store, but may have reached it, so it cannot be taken off",
  "its variant {id} failed to be published to this store, but may have reached it, so it cannot be taken off",
  "its product would have no variant on this store: take the product off instead",
  "the variant's product {id} is not on this store: add the product first",
  "the {kind} is on this store already",
  "it no longer exists",
  "nothing that was selected exists any more",
  "somebody changed the draft after the job was begun, so it was not overwritten: its revision is {revision}, not {begun}",
  "the {kind} was published to this store, or imported from it, so it cannot be taken off",
  "the {kind} is being published to this store",
  "its variant {id} was published to this store, or imported from it, so it cannot be taken off",
  "its variant {id} is being published to this store",
  "a gallery shows the media file on this store: take it out of that gallery first",
  "somebody changed it at the same moment: try again",
  "Set {key} of {things} on {domain}",
  "Set {key} of {things}",
  "Clear {key} of {things} on {domain}",
  "Clear {key} of {things}",
  "{count} products",
  "{count} product",
  "{count} variants",
  "{count} variant",
  "{count} collections",
  "{count} collection",
  "Scan data health every night",
  "Scan data health after an import",
  "Scan data health after a store was linked again",
  "Scan data health after a store was unlinked",
  "Refresh {domain}",
  "Import {file} into {domain}",
  "Count the export of {domain} as published",
  "Delete the account {account}",
  "The store is no longer linked.",
  "The values that were counted as published before remain published. Link the store again, then resume the job.",
  "The store has a platform now.",
  "The values that were counted as published before remain published. Publish to the store.",
  "The exported products were kept for 30 days only.",
  "The values that were counted as published before remain published. Export the products of the store again.",
  "The changes that were made before remain. Link the store again, then resume the job.",
  "The publishes that were requested before remain requested. Link the store again, then resume the job.",
  "Link the store with a platform, then resume the job.",
  "One step was begun {count} times and never finished. The service's log names the cause.",
  "One step with a single item was begun {count} times, and each time a statement of the database took too long. It may have waited for a lock.",
  "Remove the cause, then resume the job: it continues after its last finished step.",
  "the job is {state}: {cause}",
  "only a job that is queued or running can be paused",
  "only a paused or failed job can be resumed",
  "only a job that is queued, running or paused can be cancelled",
  "the job cannot be cancelled: {cause}",
  "the store is unlinked already. Let the job finish, then link the store again to restore it",
  "the store is linked already. Let the job finish, then unlink the store",
  "the account's keys and users are deleted already. Let the job finish",
  "the job has failed and cannot be resumed. {cause}",
  "another open job works on the same store: resume this one when that one has ended",
  "another job works on the same store: try again",
  "the service has begun another job in its place, so it need not be resumed",
  "the job ended more than 30 days ago and is being deleted: begin a new one",
  "the job {job} ({id}) is {state} and works on the same store: {cause} first",
  "let it finish",
  "resume or cancel it",
  "resume it",
  "Too many {counted}. Try again in {duration} (after {time}).",
  "{count} minutes",
  "{count} minute",
  "failed attempts with this e-mail",
  "failed attempts from your network",
  "failed attempts in this browser",
  "wrong codes",
  "wrong passwords",
  "requests for this e-mail",
  "requests from your network",
  "Too many sign-ins at the moment. Try again in {count} seconds.",
  "the end of an import or of its review",
  "the end of the job that links the store again",
  "the end of the job that links the store again, which has failed: resume it",
  "the outcomes of {count} publishes",
  "the outcomes of {count} publishes; the store's platform does not answer",
  "the next night ({time})",
  "the end of another scan of {domain}",
  "no {kind} is selected",
  "{things} are named: name at most {count} one by one, or filter the list",
  "queued",
  "running",
  "paused",
  "cancelled",
  "failed",
  "done",
  "live",
  "ending",
  "ended",
  "other decisions were made meanwhile",
  "these conflicts were decided meanwhile: {items}",
  "{count} conflicts are undecided",
  "{domain} was unlinked while its file was read",
  "{domain} was unlinked while it was read",
  "the handle {value}",
  "the SKU {value}",
  "this SKU and an earlier SKU of the product belong to different products here",
  "the product does not exist yet, and a new product needs a title",
  "{reason} belongs to the product that is already on line {line}",
  "the import has no conflict {value}",
  "import the file again",
  "Import the file again to complete it.",
  "The process that read the file stopped; import it again.",
  "refresh the store again",
  "Refresh the store again to complete it.",
  "The process that read the store stopped; refresh it again.",
  "{applied} of {planned} {things} were applied",
  "products",
  "changes",
  "file",
  "store",
  "fetching",
  "reviewing",
  "applying",
  "applied",
  "discarded",
  "Applying the import was interrupted {count} times; {cause}. {reason}",
  "The import was cancelled while it was applied; {cause}. {reason}",
  "The import could not be applied: {problem}; {cause}.",
  "an error of the service",
  "the database refused a value ({code})",
  "The import was interrupted.",
  "Nobody accepted or discarded it within 7 days.",
  "no store {domain} is linked",
  "{domain} {problem}: import its product export instead",
  "{value} does not fit the definition of {key} ({type}): it {problem}. Correct the cell, or change the definition in the shop or in this service.",
  "Line {line}, column {column}: {reason}",
  "Line {line}: {reason}",
  "The file has {count} problems. The first: {problem}",
  "another file of {domain}, {file}, is being read",
  "The file is empty.",
  "The file was changed or replaced while it was read: import it again.",
  "There is no such file: {path}",
  "The service has no permission to read the file.",
  "The file cannot be read ({code}).",
  "The file is not valid UTF-16 from here on: save it as UTF-8.",
  "The file contains U+0000: it is not a text file.",
  "The line is longer than 1 MiB.",
  'The file is not valid UTF-8 here (perhaps it is Windows-1252): save it as UTF-8 (Excel: "CSV UTF-8").',
  "The quote that opens this cell is never closed.",
  "This cell has text after its closing quote: quotes inside a cell must be doubled.",
  "This cell contains a quote but is not quoted: quote the cell and double the quote inside.",
  "The record is longer than 1 MiB: a quote may be left open.",
  "This is a directory, not a file.",
  "This is not a regular file.",
  "The record is not valid CSV.",
  "The file has a header but no products.",
  "Each item of the list {problem}.",
  "The value {problem}.",
  "This value must be a single line, but it has a line break.",
  "A {kind} has at most {count} characters.",
  "{value} is not a number of 0 or more, written like 12.50.",
  "{value} may mean thousands or decimals: write it with two decimals, like 12,50.",
  "{value} is not a whole number of 0 or more.",
  "{value} is not one of: {choices}.",
  "{value} is not an absolute http or https address.",
  "This is {kind} (it has the columns {columns}), not a product export: in the Shopify admin, open Products, choose Export and import that file.",
  "an inventory export",
  "a customer export",
  "an order export",
  "a discount export",
  "a gift card export",
  "The first line is not a header: it has values, not the names of a product export's columns (Handle, Title, ...). Add the header line, or export the products again.",
  "This column occurs twice: it is number {one} and number {other}.",
  "This column means the same as {value}: keep one.",
  "the file has {other} instead of {value}",
  "This is not a header of a Shopify product export: {reason}",
  '"Handle" is the only known column.',
  "The record has {count} cells, the header has {other}.",
  "Every line must name its product by a handle.",
  "The product {value} begins on line {line}: its lines must follow one another.",
  "The first line of a product must have its title.",
  "A product has at most {count} variants.",
  "The variant on line {line} has the same option values.",
  "This variant cannot be distinguished from the one on line {line}: variants need option values or different SKUs.",
  "The product has the option {option}, but this variant has no value for it.",
  "This option has no name: fill in {value} on the product's first line.",
  "A product has at most {count} images.",
  "{domain} is linked to another account: unlink it there first",
  "{domain} is already linked",
  "{things} (job {id}) is {state}: {cause}",
  "no such store is linked",
  "the {kind} is not on {domain}",
  "{domain} has no platform: nothing can be published to it",
  "the {kind} is not on any store that can be published to",
  "product",
  "media file",
  "variant",
  "collection"
]

/** Messages in the words of the command line and of REST (commands, "entity"), and what pages say instead. */
export const pageWords: Readonly<Record<string, Sentence>> = {
  "The entity was removed from the store before it was published.":
    "The item was removed from the store before it was published.",
  "the removal of {count} entities from {domain} is not confirmed":
    "the removal of {count} items from {domain} is not confirmed",
  "no such entity": "no such item",
  "The entity is no longer on the store.": "The item is no longer on the store.",
  "The entity is not on any store that can be published to.": "The item is not on any store that can be published to.",
  "The entity was never published to the store. Publish it first: a drop changes values of a published entity.":
    "The item was never published to the store. Publish it first: a drop changes values of a published item.",
  "import {id} is paused while it is applied: continue it with `catalog jobs resume {id}` or end it with `catalog jobs cancel {id}` first":
    "An import is paused while it is applied: resume or cancel its job on the page Jobs first.",
  "import {id} is being applied: see `catalog import show {id}`, and try again when it is done":
    "An import is being applied: see the page Imports, and try again when it is done.",
  "import {id} is being compared with the catalog: see `catalog import show {id}`, and accept or discard it when it is under review":
    "An import is being compared with the catalog: accept or discard it on the page Imports when it is under review.",
  "import {id} is under review: accept it with `catalog import accept {id}` or discard it with `catalog import discard {id}` first":
    "An import is under review: accept or discard it on the page Imports first.",
  "no store {domain} is linked; see `catalog store list`": "No store {domain} is linked: see the page Stores.",
  "The store has no saved {noun}: link the store again with `catalog store link {options}`.":
    "The store has no saved token or credentials: an administrator replaces them on the page Stores.",
  "A field of the saved {noun} of the store is missing: link the store again with `catalog store link {options}`.":
    "A field of the saved credentials of the store is missing: an administrator replaces them on the page Stores.",
  "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it.":
    "The demo shop was told to refuse: ask the operator of this service to repair it."
}

/** Placeholders whose values have no blanks. */
const oneWord = ["applied", "code", "count", "depth", "domain", "id", "key", "line", "max", "min", "planned"]

interface Pattern {
  readonly sentence: Sentence
  /** The message is for the command line, so English pages use other words, too. */
  readonly isReplaced: boolean
  readonly expression: RegExp
  readonly names: ReadonlyArray<string>
}

/** `before` and `after`: what may stand around the text, as regular expressions. */
const patternOf = (text: string, sentence: Sentence, before = "", after = ""): Pattern => {
  const names: Array<string> = []
  const expression = text
    .split(/\{(\w+)\}/)
    .map((part, index) => {
      if (index % 2 === 0) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
      if (names.includes(part)) return `\\k<${part}>`
      names.push(part)
      return `(?<${part}>${oneWord.includes(part) ? "\\S" : "."}+?)`
    })
    .join("")
  return {
    sentence,
    isReplaced: text !== sentence,
    names,
    expression: new RegExp(`^${before}${expression}${after}$`, "s")
  }
}

/** A pattern that begins with a message comes first: "{cause} Tried {count} times." One that begins with any value comes last. */
const placeOf = ({ sentence }: Pattern) => (sentence.startsWith("{cause}") ? 0 : sentence.startsWith("{") ? 2 : 1)

/** Then the longer text, which is more specific: "must be one of the languages in the list" before "must be one of {choices}". */
const bySize = (one: Pattern, other: Pattern) =>
  placeOf(one) - placeOf(other) || other.sentence.length - one.sentence.length

const whole = [
  ...[...messages, ...rules].map((text) => patternOf(text, text)),
  ...Object.entries(pageWords).map(([text, sentence]) => patternOf(text, sentence))
].sort(bySize)

const afterSubject = rules.map((text) => patternOf(text, text, "(?<subject>.+?) ", "(?<end>\\.?)")).sort(bySize)

const find = (patterns: ReadonlyArray<Pattern>, text: string) => {
  for (const pattern of patterns) {
    const found = pattern.expression.exec(text)
    if (found !== null) return { pattern, groups: found.groups ?? {} }
  }
  return undefined
}

/** A message that was found in the lists above. `subject`: what stands before a rule. */
export interface ServiceMessage {
  readonly sentence: Sentence
  readonly values: Values
  readonly isReplaced: boolean
  readonly subject: string | undefined
}

/** Finds a message of a service by its English text. A path before it, as in "import: ...", is left out. */
export const serviceMessageOf = (text: string): ServiceMessage | undefined => {
  const found = find(whole, text) ?? find(whole, text.replace(/^[a-z_.]+: /, "")) ?? find(afterSubject, text)
  if (found === undefined) return undefined
  const { groups, pattern } = found
  const values = Object.fromEntries(pattern.names.map((name) => [name, groups[name] ?? ""]))
  return { sentence: pattern.sentence, values, isReplaced: pattern.isReplaced, subject: groups.subject }
}
