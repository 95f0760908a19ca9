import { createHmac, timingSafeEqual } from "node:crypto"
import { AccountId } from "../../model/Ids.ts"

/** The widths in which pictures are shown, in CSS pixels. */
const pictureWidths = [40, 80, 400] as const
export type PictureWidth = (typeof pictureWidths)[number]

export const picturePath = "/pictures/:width/:account/:source/:signature"

const signatureOf = (key: Uint8Array, ...parts: readonly [width: string, account: string, source: string]) =>
  createHmac("sha256", key)
    .update(`picture ${parts.join(" ")}`)
    .digest()
    .subarray(0, 16)

/** Makes addresses of pictures on this service. Only addresses that a page has shown are served, because they are signed. */
export type PictureAddress = (url: string, width: PictureWidth) => string

export const makePictureAddress =
  (key: Uint8Array, accountId: AccountId): PictureAddress =>
  (url, width) => {
    const source = Buffer.from(url).toString("base64url")
    const signature = signatureOf(key, String(width), accountId, source).toString("base64url")
    return `/pictures/${width}/${accountId}/${source}/${signature}`
  }

export interface SignedPicture {
  /** The account whose page shows the picture. */
  readonly accountId: AccountId
  readonly url: string
  readonly width: PictureWidth
}

/** The picture of an address. Undefined: this service did not sign it. */
export const readPictureAddress = (key: Uint8Array, path: string): SignedPicture | undefined => {
  const [, , width = "", account = "", source = "", signature = ""] = path.split("/")
  const actual = Buffer.from(signature, "base64url")
  const expected = signatureOf(key, width, account, source)
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  const size = pictureWidths.find((each) => String(each) === width)
  return size === undefined
    ? undefined
    : { accountId: AccountId.make(account), url: Buffer.from(source, "base64url").toString(), width: size }
}
