-- The scans check the values of all types of metafields. Before, only writes checked colours, times, measurements and other JSON, but a value can
-- also get such a type afterwards, by a change of its definition.

-- Whether a member of a JSON object is a number, or a text of one. As in JavaScript, numbers that are written with an exponent there are none.
CREATE FUNCTION is_numeric_json(member json) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  CASE json_typeof(member)
    WHEN 'number' THEN
      RETURN (member #>> '{}')::numeric = 0 OR abs((member #>> '{}')::numeric) >= 1e-6 AND abs((member #>> '{}')::numeric) < 1e21;
    WHEN 'string' THEN
      RETURN (member #>> '{}') ~ '^-?[0-9]+(\.[0-9]+)?$' AND abs((member #>> '{}')::numeric) < 1.7976931348623158e308;
    ELSE
      RETURN false;
  END CASE;
END $$;

-- Whether a JSON object fits a type whose values are objects. Of lengths and weights all units are known.
CREATE FUNCTION object_fits(type text, object json) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF json_typeof(object) <> 'object' THEN
    RETURN false;
  END IF;
  CASE type
    WHEN 'money' THEN
      RETURN is_numeric_json(object -> 'amount')
        AND coalesce(json_typeof(object -> 'currency_code') = 'string' AND (object ->> 'currency_code') ~ '^[A-Z]{3}$', false);
    WHEN 'link' THEN
      RETURN coalesce(json_typeof(object -> 'text') = 'string' AND json_typeof(object -> 'url') = 'string', false);
    WHEN 'rich_text_field' THEN
      RETURN coalesce(
        json_typeof(object -> 'type') = 'string' AND object ->> 'type' = 'root' AND json_typeof(object -> 'children') = 'array',
        false
      );
    WHEN 'rating' THEN
      IF NOT (is_numeric_json(object -> 'value') AND is_numeric_json(object -> 'scale_min') AND is_numeric_json(object -> 'scale_max')) THEN
        RETURN false;
      END IF;
      RETURN (object ->> 'value')::numeric BETWEEN (object ->> 'scale_min')::numeric AND (object ->> 'scale_max')::numeric;
    ELSE
      RETURN is_numeric_json(object -> 'value') AND coalesce(json_typeof(object -> 'unit') = 'string', false) AND CASE type
        WHEN 'dimension' THEN lower(object ->> 'unit') IN (
          'mm', 'cm', 'm', 'in', 'ft', 'yd', 'millimeters', 'centimeters', 'meters', 'inches', 'feet', 'yards'
        )
        WHEN 'weight' THEN lower(object ->> 'unit') IN ('g', 'kg', 'oz', 'lb', 'grams', 'kilograms', 'ounces', 'pounds')
        ELSE true
      END;
  END CASE;
END $$;

-- Whether a non-empty value fits a type that is not a list. For URLs, only the syntax is checked.
CREATE OR REPLACE FUNCTION item_fits(type text, value text) RETURNS boolean
  LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  CASE
    WHEN type = 'single_line_text_field' THEN
      RETURN value !~ '[\n\r]';
    WHEN type = 'number_decimal' THEN
      RETURN value ~ '^-?[0-9]{1,13}(\.[0-9]{1,9})?$';
    WHEN type = 'number_integer' THEN
      RETURN value ~ '^-?[0-9]{1,16}$' AND abs(value::numeric) <= 9007199254740991;
    WHEN type = 'boolean' THEN
      RETURN value IN ('true', 'false');
    WHEN type = 'url' THEN
      RETURN value ~* '^(https?:[/\\]*[^\t\n\v\f\r /\\?#][^\t\n\v\f\r ]*|(mailto|sms|tel):[^\t\n\v\f\r ]+)$';
    WHEN type = 'color' THEN
      RETURN value ~* '^#([0-9a-f]{3}){1,2}$';
    WHEN type = 'date_time' THEN
      RETURN value ~ '^.{10}[T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?$'
        AND is_date(left(value, 10));
    WHEN type IN ('json', 'money', 'link', 'rich_text_field', 'rating', 'dimension', 'weight', 'volume', 'antenna_gain', 'area',
      'battery_charge_capacity', 'battery_energy_capacity', 'capacitance', 'concentration', 'data_storage_capacity', 'data_transfer_rate',
      'display_density', 'distance', 'duration', 'electric_current', 'electrical_resistance', 'energy', 'frequency', 'illuminance',
      'inductance', 'luminous_flux', 'mass_flow_rate', 'power', 'pressure', 'resolution', 'rotational_speed', 'sound_level', 'speed',
      'temperature', 'thermal_power', 'voltage', 'volumetric_flow_rate') THEN
      -- The embedded engine crashes if the parser exhausts its stack, so the nesting is checked first.
      IF NOT is_shallow_json(value, 32) THEN
        RETURN false;
      END IF;
      BEGIN
        PERFORM value::json;
        RETURN type = 'json' OR object_fits(type, value::json);
      EXCEPTION
        WHEN data_exception THEN
          RETURN false;
      END;
    ELSE
      RETURN true;
  END CASE;
END $$;

-- The rows of these bases were computed with the functions before. A base with another hash is computed anew by the next scan.
UPDATE health_base SET fingerprint = '' WHERE dimension = 'structure';
