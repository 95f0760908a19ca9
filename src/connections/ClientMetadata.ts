import { Either, Predicate } from "effect"
import { OAuthRefused } from "./OAuthErrors.ts"
import { destinationOf, misfitOfRedirectUri } from "./RedirectUri.ts"

/** The registration of a client. */
export interface ClientMetadata {
  readonly name: string
  readonly redirectUris: ReadonlyArray<string>
  readonly grantTypes: ReadonlyArray<string>
}

const maxRedirectUris = 10
const maxNameCharacters = 100

const grantTypes = ["authorization_code", "refresh_token"]

/** Control, format and invisible characters, which could make a name look like another name or like a part of the page. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]+/gu

/** More than four combining marks on a character. They would cover the lines around, and no language needs them. */
const stacked = /(\p{M}{4})\p{M}+/gu

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every(Predicate.isString)

const refuseMetadata = (description: string) =>
  Either.left(OAuthRefused.because("invalid_client_metadata", description))
const refuseRedirect = (description: string) => Either.left(OAuthRefused.because("invalid_redirect_uri", description))

/** The client's name as pages show it, on one line. An empty name is replaced by the host of the redirect URI. */
const nameOf = (rawName: string | undefined, redirectUri: string): string => {
  const visible = (rawName ?? "").toWellFormed().replaceAll(invisible, " ").replaceAll(stacked, "$1")
  const shown = visible.replaceAll(/\s+/g, " ").trim()
  const cut = [...shown].slice(0, maxNameCharacters).join("").trim()
  return cut === "" ? destinationOf(redirectUri) : cut
}

/** Whether a list contains only values of `allowed`. An absent list is fine, because RFC 7591 defines a default. */
const isWithin = (value: unknown, allowed: ReadonlyArray<string>) =>
  value === undefined || (isTexts(value) && value.length > 0 && value.every((each) => allowed.includes(each)))

/**
 * Reads a registration (RFC 7591). Unknown members are ignored, and so are members about secrets and authentication, because
 * all clients are public.
 */
export const readClientMetadata = (body: unknown): Either.Either<ClientMetadata, OAuthRefused> => {
  if (!Predicate.isRecord(body)) return refuseMetadata("The body must be a JSON object.")
  const { client_name: name, grant_types: grants, redirect_uris: uris, response_types: responses } = body
  if (!isTexts(uris) || uris.length === 0) return refuseRedirect("redirect_uris must list at least one URI.")
  if (uris.length > maxRedirectUris) return refuseRedirect(`redirect_uris must list at most ${maxRedirectUris} URIs.`)
  for (const [index, uri] of uris.entries()) {
    const misfit = misfitOfRedirectUri(uri)
    if (misfit !== undefined) return refuseRedirect(`redirect_uris[${index}] ${misfit}.`)
  }
  if (name !== undefined && !Predicate.isString(name)) return refuseMetadata("client_name must be text.")
  if (!isWithin(grants, grantTypes)) return refuseMetadata(`grant_types may name ${grantTypes.join(" and ")} only.`)
  if (!isWithin(responses, ["code"])) return refuseMetadata("response_types may name code only.")
  return Either.right({
    name: nameOf(name, uris[0] ?? ""),
    redirectUris: uris,
    grantTypes: grants === undefined ? grantTypes : (grants as ReadonlyArray<string>)
  })
}
