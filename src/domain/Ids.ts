import { Schema } from "effect"

/** The UUID that no record bears. */
export const nilUuid = "00000000-0000-0000-0000-000000000000"

/** A UUID in its canonical, lower-case form. */
const Uuid = Schema.String.annotations({ jsonSchema: { type: "string", format: "uuid" } }).pipe(
  Schema.pattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, {
    jsonSchema: { format: "uuid" },
    message: () => "must be a UUID"
  })
)

export const AccountId = Uuid.pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

/** Id of a product, variant, collection or media file. */
export const EntityId = Uuid.pipe(Schema.brand("EntityId"))
export type EntityId = typeof EntityId.Type

export const StoreId = Uuid.pipe(Schema.brand("StoreId"))
export type StoreId = typeof StoreId.Type

export const ApiKeyId = Uuid.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

export const ImportId = Uuid.pipe(Schema.brand("ImportId"))
export type ImportId = typeof ImportId.Type
