import { Schema } from "effect"

/** The UUID that no record bears. */
export const nilUuid = "00000000-0000-0000-0000-000000000000"

/** A UUID in its canonical, lower-case form. */
const Id = Schema.Lowercase.pipe(Schema.compose(Schema.UUID))

export const AccountId = Schema.typeSchema(Id).pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

/** Id of a product, variant, collection or media file. */
export const EntityId = Schema.typeSchema(Id).pipe(Schema.brand("EntityId"))
export type EntityId = typeof EntityId.Type

export const StoreId = Schema.typeSchema(Id).pipe(Schema.brand("StoreId"))
export type StoreId = typeof StoreId.Type

export const ApiKeyId = Schema.typeSchema(Id).pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type
