declare const described: unique symbol

/** JSON text of a value of type A, built by the database and sent unchanged. Tests check its shape. */
export class JsonText<A> {
  declare readonly [described]: A
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
