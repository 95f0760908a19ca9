import { createHmac, timingSafeEqual } from "node:crypto"

/** The widths in which pictures are shown, in CSS pixels. */
export const pictureWidths = [40, 80, 400] as const
export type PictureWidth = (typeof pictureWidths)[number]

export const picturePath = "/pictures/:width/:source/:signature"

const signatureOf = (key: Uint8Array, width: string, source: string) =>
  createHmac("sha256", key).update(`picture ${width} ${source}`).digest().subarray(0, 16)

/** Makes addresses of pictures on this service. Only addresses that a page has shown are served, because they are signed. */
export type PictureAddress = (url: string, width: PictureWidth) => string

export const makePictureAddress =
  (key: Uint8Array): PictureAddress =>
  (url, width) => {
    const source = Buffer.from(url).toString("base64url")
    return `/pictures/${width}/${source}/${signatureOf(key, String(width), source).toString("base64url")}`
  }

export interface SignedPicture {
  readonly url: string
  readonly width: PictureWidth
}

/** The picture of an address. Undefined: this service did not sign it. */
export const readPictureAddress = (key: Uint8Array, path: string): SignedPicture | undefined => {
  const [, , width = "", source = "", signature = ""] = path.split("/")
  const given = Buffer.from(signature, "base64url")
  const expected = signatureOf(key, width, source)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  const size = pictureWidths.find((each) => String(each) === width)
  return size === undefined ? undefined : { url: Buffer.from(source, "base64url").toString(), width: size }
}
