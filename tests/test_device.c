/* halo devices, and what is refused before a device is touched. */
#include "alsa_rig.h"
#include "command.h"
#include "live/device.h"
#include "suite.h"

#include <string.h>

START_TEST(no_device_is_said)
{
    alsa_rig_cards(NULL, 0);
    struct command_result result = command_done("\"$HALO\" devices");
    ck_assert_msg(strstr(result.out, "no sound device") != NULL, "%s", result.out);
    ck_assert_str_eq(result.err, "");
}
END_TEST

START_TEST(json_without_devices)
{
    alsa_rig_cards(NULL, 0);
    struct command_result result = command_done("\"$HALO\" devices --json");
    json_error_t error;
    json_t *root = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(root != NULL, "%s\n%s", error.text, result.out);
    ck_assert(json_is_array(json_object_get(root, "host_apis")));
    json_t *devices = json_object_get(root, "devices"); /* the one without hardware */
    ck_assert_uint_eq(json_array_size(devices), 1);
    ck_assert_str_eq(command_cell_word(json_array_get(devices, 0), "name"), "null");
    json_decref(root);
}
END_TEST

START_TEST(alsa_without_default_is_refused)
{
    command_refused(1, "ALSA has no device called default",
                    "ALSA_CONFIG_PATH=/dev/null \"$HALO\" devices");
    command_refused(1, "ALSA has no device called default",
                    "ALSA_CONFIG_PATH=/nowhere/at/all \"$HALO\" devices");
}
END_TEST

START_TEST(wrong_spec_are_refused)
{
    command_refused(2, "--colour is not an option", "\"$HALO\" devices --colour");
    command_refused(2, "takes options only", "\"$HALO\" devices please");
    struct command_result result = command_done("\"$HALO\" devices --help");
    ck_assert_msg(strstr(result.out, "--json") != NULL, "%s", result.out);
}
END_TEST

START_TEST(opening_nothing_is_refused)
{
    alsa_rig_cards(NULL, 0);
    struct device *device = NULL;
    struct device_request request = {0};
    ck_assert_int_eq(device_open(&request, &device), STATUS_USAGE);
    request.wants_output = true;
    ck_assert_int_eq(device_open(&request, &device), STATUS_FAILED);
    ck_assert_ptr_null(device);
    device_close(NULL);
}
END_TEST

SUITE_MAIN("device", no_device_is_said, json_without_devices, wrong_spec_are_refused,
           alsa_without_default_is_refused, opening_nothing_is_refused)
