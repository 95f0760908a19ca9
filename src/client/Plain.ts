import type { Brand } from "effect"

/** A type without brands: ids are strings, so that programs without Effect need no constructors for them. */
export type Plain<T> =
  T extends Brand.Brand<infer _Name>
    ? Brand.Brand.Unbranded<T>
    : T extends object
      ? { readonly [Member in keyof T]: Plain<T[Member]> }
      : T
