import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { Effect } from "effect"

/** Parameters of scrypt. Memory is 128 x cost x blockSize bytes (32 MiB); a digest takes about 0.1 s. */
const parameters = { cost: 2 ** 15, blockSize: 8, parallelization: 3 } as const

const digestBytes = 32

interface StoredDigest {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: Buffer
  readonly digest: Buffer
}

const digestOf = (password: string, { blockSize, cost, parallelization, salt }: Omit<StoredDigest, "digest">) =>
  Effect.async<Buffer>((resume) => {
    const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
    // Normalized, because keyboards encode the same letter in different ways.
    scrypt(password.normalize("NFC"), salt, digestBytes, options, (error, digest) =>
      resume(error === null ? Effect.succeed(digest) : Effect.die(error))
    )
  })

const form = /^scrypt:(\d{1,8}):(\d{1,3}):(\d{1,3}):([A-Za-z0-9_-]{22}):([A-Za-z0-9_-]{43})$/

const readDigest = (text: string): StoredDigest | undefined => {
  const [, cost, blockSize, parallelization, salt, digest] = form.exec(text) ?? []
  return salt === undefined || digest === undefined
    ? undefined
    : {
        cost: Number(cost),
        blockSize: Number(blockSize),
        parallelization: Number(parallelization),
        salt: Buffer.from(salt, "base64url"),
        digest: Buffer.from(digest, "base64url")
      }
}

const freshSalt = () => randomBytes(16)

/** Used if a user has no password, so that the check takes as long as for a wrong password. */
const dummyDigest: StoredDigest = { ...parameters, salt: freshSalt(), digest: randomBytes(digestBytes) }

/** Makes the text that is stored for a password: its scrypt digest with parameters and salt. */
export const digestPassword = (password: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    const salt = freshSalt()
    const { blockSize, cost, parallelization } = parameters
    return Effect.map(digestOf(password, { ...parameters, salt }), (digest) =>
      ["scrypt", cost, blockSize, parallelization, salt.toString("base64url"), digest.toString("base64url")].join(":")
    )
  })

/** Whether a password matches a stored digest. `null` matches no password, and takes as long to check. */
export const isPassword = (password: string, text: string | null): Effect.Effect<boolean> => {
  const stored = text === null ? undefined : readDigest(text)
  return Effect.map(
    digestOf(password, stored ?? dummyDigest),
    (digest) => stored !== undefined && timingSafeEqual(digest, stored.digest)
  )
}
