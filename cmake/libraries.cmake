# Libraries that are opened when they are first needed (src/base/library.h): those that take long to
# load, and those that few commands use. A function that is missing from a list is an undefined
# reference where it is called.

# What the linker notes as needed: the files of a library. cmake/package_depends.cmake asks what it
# linked for packages.
function(library_files name result)
  set(probe ${PROJECT_BINARY_DIR}/libraries/${name}.so)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/libraries)
  set_property(GLOBAL APPEND PROPERTY HALO_LIBRARIES_LINKED ${probe})
  execute_process(COMMAND ${CMAKE_C_COMPILER} -shared -o ${probe} -x c /dev/null -x none
                          -Wl,--no-as-needed ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_READELF} -d ${probe} OUTPUT_VARIABLE dynamic
                  COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE "[][]" " " dynamic "${dynamic}") # lists keep brackets together
  string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" needed "${dynamic}")
  list(TRANSFORM needed REPLACE ".*: +([^ ]+).*" "\\1")
  list(FILTER needed EXCLUDE REGEX "^(lib(c|m|dl|pthread|gcc_s)[.]|ld-)")
  set(${result} ${needed} PARENT_SCOPE)
endfunction()

# The package of this system that a file is of, where that is known; asked for once.
function(library_package file result)
  if(NOT DEFINED CACHE{HALO_PACKAGE_OF_${file}})
    set(owner "")
    execute_process(COMMAND dpkg-query -S "*/${file}" OUTPUT_VARIABLE owners RESULT_VARIABLE failed
                    ERROR_QUIET)
    if(NOT failed)
      string(REGEX MATCH "^[^:,\n]+" owner "${owners}")
    endif()
    set(HALO_PACKAGE_OF_${file} "${owner}" CACHE INTERNAL "")
  endif()
  set(${result} "${HALO_PACKAGE_OF_${file}}" PARENT_SCOPE)
endfunction()

# halo_library(NAME FOLDER MODULE TITLE HEADERS header... SYMBOLS name... [OPTIONS option...])
# Adds FOLDER/NAME_library.h to halo_core. MODULE is pkg-config's, as cmake/components.cmake names
# it; OPTIONS are for the compiler, where the headers need them.
function(halo_library name folder module title)
  cmake_parse_arguments(PARSE_ARGV 4 arg "" "" "HEADERS;SYMBOLS;OPTIONS")
  library_files(${name} files ${${module}_LDFLAGS})
  list(GET files 0 first)
  library_package(${first} package)
  set_property(GLOBAL APPEND PROPERTY HALO_LIBRARY_FILES ${name}=${first}) # tests/libraries.sh
  string(JOIN "\", \"" files ${files})
  list(LENGTH arg_SYMBOLS count)
  string(TOUPPER ${name} upper)
  set(includes "")
  foreach(header ${arg_HEADERS})
    string(APPEND includes "#include <${header}>\n")
  endforeach()
  set(fields "")
  set(redirections "")
  set(names "")
  foreach(symbol ${arg_SYMBOLS})
    string(APPEND fields "    __typeof__(${symbol}) *${symbol};\n")
    string(APPEND redirections
           "#undef ${symbol}\n#define ${symbol} (*${name}_symbols.${symbol})\n")
    string(APPEND names "    \"${symbol}\",\n")
  endforeach()
  set(place ${CMAKE_CURRENT_BINARY_DIR}/${folder}/${name}_library)
  # HALO_CALLS_AS_WRITTEN: for tests/realtime_calls.py, which looks for names.
  file(CONFIGURE OUTPUT ${place}.h CONTENT [[
/* What halo uses of @title@, opened when it is first needed; made by cmake/libraries.cmake. */
#ifndef HALO_@upper@_LIBRARY_H
#define HALO_@upper@_LIBRARY_H

#include "base/library.h"

@includes@
extern struct library @name@_library;

struct @name@_symbols {
@fields@};
extern struct @name@_symbols @name@_symbols;

#ifndef HALO_CALLS_AS_WRITTEN
@redirections@#endif

#endif
]] @ONLY)
  file(CONFIGURE OUTPUT ${place}.c CONTENT [[
#define HALO_CALLS_AS_WRITTEN
#include "@folder@/@name@_library.h"

struct @name@_symbols @name@_symbols;

static const char *const names[] = {
@names@};
_Static_assert(sizeof @name@_symbols == sizeof names, "pointers to data and functions are of one size");

struct library @name@_library = {
    .title = "@title@",
    .package = "@package@",
    .files = {"@files@"},
    .names = names,
    .count = @count@,
    .symbols = &@name@_symbols,
};
]] @ONLY)
  set_source_files_properties(${place}.c PROPERTIES COMPILE_OPTIONS "${arg_OPTIONS}")
  target_sources(halo_core PRIVATE ${place}.c)
  foreach(target halo_core halo_in_double)
    target_include_directories(${target} SYSTEM PRIVATE ${${module}_INCLUDE_DIRS})
  endforeach()
endfunction()

# The second and third files are those that it uses itself.
list(APPEND SNDFILE_LDFLAGS ${FLAC_LDFLAGS} ${OGG_LDFLAGS})
halo_library(sndfile sound SNDFILE libsndfile
  HEADERS sndfile.h FLAC/stream_decoder.h ogg/ogg.h
  SYMBOLS FLAC__stream_decoder_delete FLAC__stream_decoder_finish
    FLAC__stream_decoder_get_decode_position FLAC__stream_decoder_get_state
    FLAC__stream_decoder_init_stream FLAC__stream_decoder_new FLAC__stream_decoder_process_single
    FLAC__stream_decoder_process_until_end_of_metadata FLAC__stream_decoder_seek_absolute
    FLAC__stream_decoder_set_md5_checking ogg_page_bos ogg_page_eos ogg_page_granulepos ogg_page_pageno
    ogg_page_serialno ogg_sync_buffer ogg_sync_clear ogg_sync_pageseek ogg_sync_wrote sf_close sf_command sf_error sf_format_check sf_get_string sf_open_virtual
    sf_readf_double sf_readf_float sf_readf_short sf_seek sf_set_chunk sf_set_string sf_strerror
    sf_writef_double sf_writef_float sf_writef_int sf_writef_short)

halo_library(soxr sound SOXR libsoxr
  HEADERS soxr.h
  SYMBOLS soxr_create soxr_delete soxr_io_spec soxr_process soxr_quality_spec)
halo_library(ebur128 signal EBUR128 libebur128
  HEADERS ebur128.h
  SYMBOLS ebur128_add_frames_float ebur128_destroy ebur128_init ebur128_loudness_momentary ebur128_loudness_window
    ebur128_prev_true_peak ebur128_set_channel)
halo_library(sodium sound SODIUM libsodium
  HEADERS sodium.h
  SYMBOLS crypto_hash_sha256_final crypto_hash_sha256_init crypto_hash_sha256_update randombytes_uniform
    sodium_base642bin sodium_base64_encoded_len sodium_bin2base64 sodium_bin2hex sodium_init sodium_memcmp)
halo_library(yaml import YAML libyaml
  HEADERS yaml.h
  SYMBOLS yaml_document_add_scalar yaml_document_append_mapping_pair yaml_document_delete yaml_document_get_node
    yaml_document_get_root_node yaml_event_delete yaml_parser_delete yaml_parser_initialize yaml_parser_load
    yaml_parser_parse yaml_parser_set_input_string)
if(HALO_WITH_SECCOMP)
  halo_library(seccomp plugin/isolation SECCOMP libseccomp
    HEADERS seccomp.h
    SYMBOLS seccomp_attr_set seccomp_init seccomp_load seccomp_release seccomp_rule_add
      seccomp_syscall_resolve_name)
endif()
halo_library(zlib batch ZLIB zlib
  HEADERS zlib.h
  SYMBOLS gzclose_w gzdopen gzputs inflate inflateEnd inflateInit2_ inflateReset)
if(HALO_WITH_SOFA)
  halo_library(mysofa import MYSOFA libmysofa HEADERS mysofa.h SYMBOLS mysofa_load_data)
endif()
if(HALO_WITH_PORTAUDIO)
  set(portaudio_headers portaudio.h)
  set(portaudio_alsa "")
  if(HALO_PORTAUDIO_ALSA)
    list(APPEND portaudio_headers pa_linux_alsa.h)
    set(portaudio_alsa PaAlsa_EnableRealtimeScheduling)
  endif()
  halo_library(portaudio live/device PORTAUDIO PortAudio
    HEADERS ${portaudio_headers}
    SYMBOLS Pa_CloseStream Pa_GetDefaultHostApi Pa_GetDeviceCount Pa_GetDeviceInfo Pa_GetErrorText
      Pa_GetHostApiCount Pa_GetHostApiInfo Pa_GetLastHostErrorInfo Pa_GetStreamInfo Pa_Initialize
      Pa_IsFormatSupported Pa_IsStreamActive Pa_OpenStream Pa_StartStream Pa_Terminate
      ${portaudio_alsa})
  # PortAudio is to find this before JACK's (driver_portaudio.c).
  target_link_options(halo_core INTERFACE LINKER:--export-dynamic-symbol=jack_client_open)
  if(PULSE_FOUND)
    halo_library(pulse live/device PULSE PulseAudio
      HEADERS pulse/pulseaudio.h
      SYMBOLS pa_context_connect pa_context_disconnect pa_context_get_sink_info_by_name
        pa_context_get_source_info_by_name pa_context_get_state pa_context_new pa_context_unref
        pa_mainloop_free pa_mainloop_get_api pa_mainloop_iterate pa_mainloop_new
        pa_operation_unref)
  endif()
endif()
if(HALO_WITH_JACK)
  halo_library(jack live/device JACK JACK
    HEADERS jack/jack.h
    SYMBOLS jack_activate jack_client_close jack_client_open jack_connect jack_deactivate jack_free
      jack_get_client_name jack_get_ports jack_get_sample_rate jack_on_info_shutdown
      jack_port_by_name jack_port_connected_to jack_port_flags jack_port_get_all_connections
      jack_port_get_buffer jack_port_get_latency_range jack_port_name jack_port_register
      jack_port_set_latency_range jack_port_short_name jack_recompute_total_latencies
      jack_set_error_function jack_set_info_function jack_set_latency_callback
      jack_set_port_connect_callback jack_set_port_registration_callback
      jack_set_process_callback jack_set_xrun_callback)
endif()
if(HALO_WITH_PIPEWIRE)
  halo_library(pipewire live/device PIPEWIRE PipeWire
    HEADERS pipewire/pipewire.h pipewire/filter.h # the second needs the first
    SYMBOLS pw_context_connect pw_context_destroy pw_context_new pw_core_disconnect
      pw_filter_add_listener pw_filter_add_port pw_filter_connect pw_filter_destroy
      pw_filter_get_dsp_buffer pw_filter_get_node_id pw_filter_new pw_filter_update_params pw_init
      pw_log_set_level pw_properties_free pw_properties_new pw_properties_set pw_properties_setf
      pw_proxy_add_listener pw_proxy_destroy pw_stream_add_listener pw_stream_connect
      pw_stream_dequeue_buffer pw_stream_destroy pw_stream_get_node_id pw_stream_new pw_stream_queue_buffer
      pw_stream_trigger_process pw_stream_update_params pw_thread_loop_destroy pw_thread_loop_get_loop
      pw_thread_loop_get_time pw_thread_loop_lock pw_thread_loop_new pw_thread_loop_signal
      pw_thread_loop_start pw_thread_loop_stop pw_thread_loop_timed_wait_full
      pw_thread_loop_unlock
    OPTIONS -Wno-pedantic) # GNU C
endif()
if(HALO_WITH_SCREEN)
  halo_library(ncurses view NCURSES ncurses
    HEADERS curses.h
    SYMBOLS COLS LINES cbreak curs_set def_prog_mode endwin has_colors init_pair is_term_resized
      keypad newterm nodelay noecho resize_term set_escdelay start_color stdscr use_default_colors
      waddnwstr wattr_set werase wget_wch wmove wrefresh)
  # Of the same files: its header takes many short names.
  halo_library(terminfo view NCURSES ncurses
    HEADERS curses.h term.h
    SYMBOLS setupterm tigetstr)
endif()
if(HALO_WITH_LV2)
  halo_library(lilv plugin/lv2 LILV lilv
    HEADERS lilv/lilv.h
    SYMBOLS lilv_free lilv_instance_free lilv_new_bool lilv_new_file_uri lilv_new_uri lilv_node_as_float
      lilv_node_as_int lilv_node_as_string lilv_node_as_uri lilv_node_duplicate lilv_node_equals
      lilv_node_free lilv_node_get_path lilv_node_is_float lilv_node_is_int lilv_node_is_string
      lilv_node_is_uri lilv_nodes_begin lilv_nodes_free lilv_nodes_get lilv_nodes_is_end
      lilv_nodes_next lilv_nodes_size lilv_plugin_class_get_label lilv_plugin_get_author_name
      lilv_plugin_get_bundle_uri lilv_plugin_get_class lilv_plugin_get_library_uri
      lilv_plugin_get_name lilv_plugin_get_num_ports lilv_plugin_get_port_by_designation
      lilv_plugin_get_port_by_index lilv_plugin_get_port_ranges_float lilv_plugin_get_related
      lilv_plugin_get_required_features lilv_plugin_get_uri lilv_plugin_get_value
      lilv_plugin_has_extension_data lilv_plugin_has_feature lilv_plugin_instantiate
      lilv_plugins_begin lilv_plugins_get lilv_plugins_get_by_uri lilv_plugins_is_end
      lilv_plugins_next lilv_plugins_size lilv_port_get lilv_port_get_index lilv_port_get_name
      lilv_port_get_node lilv_port_get_scale_points lilv_port_get_symbol lilv_port_has_property
      lilv_port_is_a lilv_port_supports_event lilv_scale_point_get_label lilv_scale_point_get_value
      lilv_scale_points_begin lilv_scale_points_free lilv_scale_points_get lilv_scale_points_is_end
      lilv_scale_points_next lilv_scale_points_size lilv_state_emit_port_values lilv_state_free
      lilv_state_get_num_properties lilv_state_get_plugin_uri lilv_state_new_from_file
      lilv_state_new_from_instance lilv_state_new_from_world lilv_state_restore
      lilv_state_save lilv_world_ask lilv_world_find_nodes lilv_world_free lilv_world_get
      lilv_world_get_all_plugins lilv_world_load_bundle lilv_world_load_plugin_classes
      lilv_world_load_resource lilv_world_load_specifications lilv_world_new lilv_world_set_option)
endif()
if(LIBLO_FOUND)
  halo_library(lo live/remote LIBLO liblo
    HEADERS lo/lo.h
    SYMBOLS lo_bundle_add_message lo_bundle_free_recursive lo_bundle_new lo_bundle_serialise
      lo_get_path lo_message_add_internal lo_message_deserialise lo_message_free
      lo_message_get_argc lo_message_get_argv lo_message_get_types lo_message_new
      lo_message_serialise)
endif()
if(HALO_WITH_WEB)
  halo_library(websockets web WEBSOCKETS libwebsockets
    HEADERS libwebsockets.h
    SYMBOLS lws_add_http_common_headers lws_adopt_descriptor_vhost lws_callback_on_writable
      lws_cancel_service lws_close_reason lws_context_destroy lws_context_user lws_create_context
      lws_finalize_write_http_header lws_frame_is_binary lws_get_context lws_get_socket_fd
      lws_get_vhost_by_name lws_get_vhost_listen_port lws_hdr_copy lws_hdr_total_length
      lws_is_final_fragment lws_serve_http_file lws_service lws_set_log_level lws_set_timeout
      lws_set_timer_usecs lws_write)
endif()
