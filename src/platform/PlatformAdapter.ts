import type { HttpClient } from "@effect/platform"
import type { Effect, Scope } from "effect"
import type { PlatformClient } from "./PlatformClient.ts"
import type { SalesChannel } from "./SalesChannel.ts"

/** A permission that an access token needs, by the platform's name. */
export interface Permission {
  readonly name: string
  /** What does not work without it, as a clause, for example "markets cannot be read". */
  readonly without: string
  /** True: a store is linked without it, and a warning says what does not work. Default: false. */
  readonly isOptional?: boolean
}

/** A value that linking a store asks for, such as an access token. All values of a store are stored encrypted. */
export interface CredentialField {
  /** Lower-case letters, digits and underscores. */
  readonly name: string
  /** Names the value in messages and forms, for example "an Admin API access token of the store". */
  readonly label: string
  /** Whether the value must not be shown, not even while it is typed. */
  readonly isSecret: boolean
  /** The permissions that an access token needs. Pages list them where the token is asked for. */
  readonly permissions?: ReadonlyArray<Permission>
  /** The rule that a value breaks, for example "must be one word"; undefined: the value is valid. */
  readonly misfit: (value: string) => string | undefined
}

/** Data that a platform may have besides products, variants, collections and media. Reads of other data are empty. */
export type PlatformCapability = "salesChannels" | "markets" | "metafieldDefinitions" | "metaobjects" | "translations"

/** The services that every adapter may use. */
export type PlatformServices = HttpClient.HttpClient | Scope.Scope

/** The properties of a platform, apart from its client. */
export interface PlatformDescription {
  /** The name in answers, in the database and on the command line: lower-case letters, digits and hyphens. Never change it. */
  readonly name: string
  /** The name on pages. */
  readonly label: string
  /** A description of a store on the platform in a few words, for lists of platforms. */
  readonly summary: string
  readonly capabilities: ReadonlyArray<PlatformCapability>
  /** The credentials that linking a store requires. Empty: calls need none. */
  readonly fields: ReadonlyArray<CredentialField>
  /**
   * True: linking calls `verify`, takes name, languages and currency from its answer, and reserves the store for one account.
   * False: nothing is called, and a person gives these values.
   */
  readonly isVerified: boolean
  /** The rule that the domain of a store breaks; undefined: it is an address of the platform. */
  readonly domainMisfit: (domain: string) => string | undefined
  /** Whether only this platform has stores at the domain. Stores of other adapters cannot be linked there. */
  readonly ownsDomain: (domain: string) => boolean
  /** Whether a store sorts the products of a collection that has no `sort_order`. Otherwise they are in the order that was published. */
  readonly sortsByDefault: boolean
  /**
   * Whether a publish puts the records that it creates on a channel if a store has no `newRecordChannels`. Undefined: the platform decides, so
   * none can be chosen.
   */
  readonly isDefaultChannel?: (channel: SalesChannel) => boolean
  /** The address of a smaller copy of a picture, if the platform's hosts make one. Undefined: they do not serve the picture. */
  readonly smallerPicture: (picture: URL, width: number) => URL | undefined
}

/** A commerce platform: a folder of `platform/` exports one. */
export interface PlatformAdapter<R = PlatformServices> extends PlatformDescription {
  /** Makes the client of the platform's stores. The scope ends with the process. */
  readonly make: Effect.Effect<PlatformClient["Type"], never, R>
}
