import { Either, Option, Redacted } from "effect"
import { ValidationFailed } from "../model/Errors.ts"
import type { StoreId } from "../model/Ids.ts"
import { nameMisfit } from "../model/Name.ts"
import { filesOnly, type Store } from "../model/Store.ts"
import type { Permission, PlatformDescription } from "../platform/PlatformAdapter.ts"
import type { StoreFacts } from "../platform/PlatformClient.ts"
import type { PlatformRegistry } from "../platform/PlatformRegistry.ts"
import type { Credentials } from "./StoreCredentials.ts"

/**
 * A store to link. Members that are left out keep their value if the store was linked before, else they get the default. If the
 * adapter of the platform verifies stores, name, languages and currency are read from the store.
 */
export interface NewStore {
  readonly domain: string
  /** If blank, the domain is the name. */
  readonly name?: string | undefined
  /** Default: `none`. */
  readonly platform?: string | undefined
  /** Default: `en`. */
  readonly primaryLocale?: string | undefined
  /** Default: `USD`. */
  readonly currency?: string | undefined
  /** The values of the fields that the platform's adapter asks for, by name. */
  readonly credentials?: Credentials | undefined
}

export const canonical = (domain: string) => domain.trim().toLowerCase()

export const newStore = (id: StoreId, domain: string): Store => ({
  id,
  domain,
  name: domain,
  platform: filesOnly,
  status: "linked",
  primary_locale: "en",
  locales: ["en"],
  currency: "USD",
  last_imported_at: null
})

/** The store with the given values. If a main language is given, it is the only language. */
export const storeOf = (newStore: NewStore & { readonly platform: string }, before: Store): Store => ({
  ...before,
  name: newStore.name?.trim() || before.name,
  platform: newStore.platform,
  primary_locale: newStore.primaryLocale ?? before.primary_locale,
  locales: newStore.primaryLocale === undefined ? before.locales : [newStore.primaryLocale],
  currency: newStore.currency ?? before.currency
})

/** A store with the name, languages and currency that were read from it. */
export const verifiedStoreOf = (
  platform: string,
  { currency, locales, name, primaryLocale }: StoreFacts,
  before: Store
): Store => ({
  ...before,
  name: name.trim() || before.name,
  platform,
  primary_locale: primaryLocale,
  locales,
  currency
})

/** Whether the database can store the values. */
export const isValidStore = ({ currency, domain, locales, name, primaryLocale }: StoreFacts) =>
  isDomain(canonical(domain)) &&
  [currency, name, primaryLocale, ...locales].every((text) => text.isWellFormed() && !text.includes("\u0000")) &&
  [currency, primaryLocale, ...locales].every((text) => text !== "")

const refuse = (path: string, message: string) => Either.left(ValidationFailed.at(path, message))

/** The adapter of the given platform, else of the platform that the store had before. Null: the platform is `none`. */
export const platformOf = (
  { all, find }: PlatformRegistry["Type"],
  { credentials = {}, platform: given }: NewStore,
  domain: string,
  before: Store | undefined
): Either.Either<PlatformDescription | null, ValidationFailed> => {
  const platform = given ?? before?.platform ?? filesOnly
  const adapter = find(platform)
  const names = [...all.map(({ name }) => name), filesOnly]
  if (adapter._tag === "None" && platform !== filesOnly) return refuse("platform", `must be one of ${names.join(", ")}`)
  const fields = adapter._tag === "None" ? [] : adapter.value.fields.map(({ name }) => name)
  const unknown = Object.keys(credentials).find((name) => !fields.includes(name))
  if (unknown !== undefined) {
    const others = all.filter((each) => each.fields.some(({ name }) => name === unknown)).map(({ name }) => name)
    return refuse(
      unknown,
      others.length > 0
        ? `is only for stores on the platform ${others.join(", ")}`
        : `is not a field of the platform ${platform}${fields.length === 0 ? "" : `: choose from ${fields.join(", ")}`}`
    )
  }
  if (adapter._tag === "None") return Either.right(null)
  const misfit = adapter.value.domainMisfit(domain)
  if (misfit !== undefined) return refuse("domain", misfit)
  // A domain of another platform is refused. Otherwise, if the store were later linked on its own platform, ids of records of this
  // platform could be sent to it.
  const owner = all.find((each) => each.name !== platform && each.ownsDomain(domain))
  if (owner !== undefined) return refuse("domain", `belongs to ${owner.label}: a ${platform} store needs another one`)
  return Either.right(adapter.value)
}

/** Checks the values that a person gives for a store. */
export const checkStore = ({ currency, name, primaryLocale }: NewStore): Either.Either<void, ValidationFailed> => {
  const nameProblem = name === undefined || name.trim() === "" ? undefined : nameMisfit(name.trim())
  const issues = [
    ...(nameProblem === undefined ? [] : [{ path: "name", message: nameProblem }]),
    ...(primaryLocale === undefined || /^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/.test(primaryLocale)
      ? []
      : [{ path: "locale", message: "must be a language such as en, pt-BR or zh-Hans" }]),
    ...(currency === undefined || /^[A-Z]{3}$/.test(currency)
      ? []
      : [{ path: "currency", message: "must be an ISO 4217 code such as EUR" }])
  ]
  return issues.length === 0 ? Either.void : Either.left(new ValidationFailed({ issues }))
}

/**
 * The values of all fields of the adapter. If it verifies stores, name, language and currency must not be given, because they are
 * read from the store.
 */
export const credentialsOf = (
  { fields, isVerified }: PlatformDescription,
  { credentials = {}, currency, name, primaryLocale }: NewStore
): Either.Either<Credentials, ValidationFailed> => {
  const redundant = Object.entries({ name, locale: primaryLocale, currency }).find(([, value]) => value !== undefined)
  if (isVerified && redundant !== undefined) return refuse(redundant[0], "is read from the store itself: leave it out")
  for (const field of fields) {
    const value = credentials[field.name]
    if (value === undefined) return refuse(field.name, `is required: ${field.label}`)
    const misfit = field.misfit(Redacted.value(value))
    if (misfit !== undefined) return refuse(field.name, misfit)
  }
  return Either.right(credentials)
}

/** The permissions of a platform's credentials with these names. None: this process has no adapter for the platform. */
export const permissionsNamed = (
  platform: Option.Option<PlatformDescription>,
  names: ReadonlyArray<string>
): ReadonlyArray<Permission> =>
  Option.toArray(platform)
    .flatMap(({ fields }) => fields.flatMap(({ permissions = [] }) => permissions))
    .filter(({ name }) => names.includes(name))

/** Whether the text is a host name: at least two labels of letters, digits and inner hyphens (RFC 1123). */
export const isDomain = (text: string) =>
  text.length <= 253 &&
  text.split(".").length >= 2 &&
  text.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
