declare const described: unique symbol

/** JSON text of a value of type A. The database builds it and it is sent unparsed. Tests check that it matches A. */
export class JsonText<A> {
  declare readonly [described]: A
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}
