import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { Context, Effect } from "effect"

/** The cost of scrypt, a power of 2. With the default a digest takes about 0.1 s. Tests that check many passwords lower it. */
export class PasswordCost extends Context.Reference<PasswordCost>()("catalog/PasswordCost", {
  defaultValue: () => 2 ** 15
}) {}

/** The other parameters of scrypt. Memory is 128 x cost x blockSize bytes (32 MiB). */
const parameters = { blockSize: 8, parallelization: 3 } as const

const digestBytes = 32

/** Longest password in UTF-16 units: 200 characters. The time of normalizing is quadratic, and blocks all other requests. */
const maxUnits = 400

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
    scrypt(password.slice(0, maxUnits).normalize("NFC"), salt, digestBytes, options, (error, digest) =>
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
const dummyDigest = { ...parameters, salt: freshSalt() }

/** Makes the text that is stored for a password: its scrypt digest with parameters and salt. */
export const digestPassword = (password: string, cost: number): Effect.Effect<string> =>
  Effect.gen(function* () {
    const salt = freshSalt()
    const { blockSize, parallelization } = parameters
    const digest = yield* digestOf(password, { ...parameters, cost, salt })
    return ["scrypt", cost, blockSize, parallelization, salt.toString("base64url"), digest.toString("base64url")].join(
      ":"
    )
  })

/** Whether a password matches a stored digest. `null` matches no password, and takes as long to check as a digest of this cost. */
export const isPassword = (password: string, text: string | null, cost: number): Effect.Effect<boolean> => {
  const stored = text === null ? undefined : readDigest(text)
  return Effect.map(
    digestOf(password, stored ?? { ...dummyDigest, cost }),
    (digest) => stored !== undefined && password.length <= maxUnits && timingSafeEqual(digest, stored.digest)
  )
}
