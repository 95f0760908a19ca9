import { Either } from "effect"

/** Maximum characters of a client id that is a URL. */
const maxCharacters = 2_048

/** Whether a client id is the URL of a client metadata document, and not the id of a registered client. */
export const isClientAddress = (clientId: string): boolean => /^https:/i.test(clientId)

/** The URL of a client metadata document (draft-ietf-oauth-client-id-metadata-document, section 3). Left: why it is not valid. */
export const readClientAddress = (clientId: string): Either.Either<URL, string> => {
  if (clientId.length > maxCharacters) return Either.left(`Its address has more than ${maxCharacters} characters.`)
  if (!URL.canParse(clientId)) return Either.left("Its address is not readable.")
  const url = new URL(clientId)
  if (url.href !== clientId || clientId.includes("#") || url.username !== "" || url.password !== "")
    return Either.left("Its address must be written in full, without a fragment or user information.")
  return url.pathname === "/" ? Either.left("Its address must have a path.") : Either.right(url)
}
