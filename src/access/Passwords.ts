import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { Effect } from "effect"

/** Memory is 128 x cost x blockSize bytes (32 MiB), time grows with all three: about a tenth of a second. */
const usual = { cost: 2 ** 15, blockSize: 8, parallelization: 3 } as const

const digestBytes = 32

interface Kept {
  readonly cost: number
  readonly blockSize: number
  readonly parallelization: number
  readonly salt: Buffer
  readonly digest: Buffer
}

const digestOf = (password: string, { blockSize, cost, parallelization, salt }: Omit<Kept, "digest">) =>
  Effect.async<Buffer>((resume) => {
    const options = { cost, blockSize, parallelization, maxmem: 256 * cost * blockSize }
    // The same letters, however a keyboard puts them together.
    scrypt(password.normalize("NFC"), salt, digestBytes, options, (error, digest) =>
      resume(error === null ? Effect.succeed(digest) : Effect.die(error))
    )
  })

const form = /^scrypt:(\d{1,8}):(\d{1,3}):(\d{1,3}):([A-Za-z0-9_-]{22}):([A-Za-z0-9_-]{43})$/

const readKept = (text: string): Kept | undefined => {
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

/** Compared with where there is no password: no different in time from one that is wrong. */
const nobodys: Kept = { ...usual, salt: freshSalt(), digest: randomBytes(digestBytes) }

/** What is kept of a password: scrypt's digest with its cost and salt. */
export const keepPassword = (password: string): Effect.Effect<string> =>
  Effect.suspend(() => {
    const salt = freshSalt()
    const { blockSize, cost, parallelization } = usual
    return Effect.map(digestOf(password, { ...usual, salt }), (digest) =>
      ["scrypt", cost, blockSize, parallelization, salt.toString("base64url"), digest.toString("base64url")].join(":")
    )
  })

/** Whether it is the password that was kept; null: there is none, which takes as long to say. */
export const isPassword = (password: string, kept: string | null): Effect.Effect<boolean> => {
  const known = kept === null ? undefined : readKept(kept)
  return Effect.map(
    digestOf(password, known ?? nobodys),
    (digest) => known !== undefined && timingSafeEqual(digest, known.digest)
  )
}
